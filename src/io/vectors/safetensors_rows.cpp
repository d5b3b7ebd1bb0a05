// SPDX-License-Identifier: Apache-2.0
// safetensors (github.com/huggingface/safetensors): the length of a header in 64 bits, the header (JSON: for each
// tensor its dtype, shape, begin and end relative to the header's end), the tensors.
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "io/corpus/json_repairs.hpp"
#include "io/lines/numbers.hpp"
#include "io/vectors/vector_file_state.hpp"

namespace quern::io {
namespace {

struct tensor {
    std::string name, dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0, end = 0;
};

std::optional<number_type> type_of(std::string_view dtype) {
    struct known {
        std::string_view code;
        number_type type;
    };
    using enum number_type;
    constexpr known all[] = {{"F32", f32}, {"F16", f16}, {"BF16", bf16},   {"F64", f64}, {"I8", i8},
                             {"U8", u8},   {"I16", i16}, {"U16", u16},     {"I32", i32}, {"U32", u32},
                             {"I64", i64}, {"U64", u64}, {"BOOL", boolean}};
    for (const known& each : all)
        if (dtype == each.code) return each.type;
    return std::nullopt;
}

class safetensors_reader {
  public:
    explicit safetensors_reader(vector_reading& reading) : reading_(reading) {}

    number_rows rows() {
        read_header();
        const tensor& chosen = choose();
        const std::string which = "the tensor " + io::quoted(chosen.name);
        const auto type = type_of(chosen.dtype);
        if (!type)
            reading_.refuse(which + " has numbers of type " + io::quoted(chosen.dtype) +
                            ", which are not read");
        if (chosen.shape.empty() || chosen.shape.size() > 2) {
            reading_.refuse(which + " has " + std::to_string(chosen.shape.size()) +
                            " dimensions; rows of vectors have two, one vector one");
        }
        const std::uint64_t columns = chosen.shape.back(),
                            rows = chosen.shape.size() == 2 ? chosen.shape[0] : 1;
        const auto expected = product_of(rows, columns, size_of(*type));
        if (!expected || *expected != chosen.end - chosen.begin) {
            reading_.refuse(which + " says " + std::to_string(rows) + " rows of " + std::to_string(columns) +
                            " " + std::string(name_of(*type)) + " at offset " +
                            std::to_string(data_ + chosen.begin) + ", but takes " +
                            std::to_string(chosen.end - chosen.begin) + " bytes");
        }
        return {*type, false, rows, columns, data_ + chosen.begin, columns * size_of(*type)};
    }

  private:
    [[noreturn]] void refuse_header(const std::string& what) const {
        reading_.refuse("the header at offset 8 " + what);
    }

    void read_header() {
        constexpr std::uint64_t before = 8, longest = 100'000'000;  // safetensors' own limit
        const std::string_view text = reading_.text();
        if (text.size() < before)
            reading_.refuse("the file ends within the header at offset " + std::to_string(text.size()));
        std::uint64_t length = 0;
        std::memcpy(&length, text.data(), before);
        if (length > longest || length > text.size() - before) {
            reading_.refuse("says at offset 0 that its header has " + std::to_string(length) +
                            " bytes; the file has " + std::to_string(text.size()) +
                            ", and a header at most 100000000");
        }
        data_ = before + length;
        const std::string_view header = text.substr(before, length);
        const auto json = nlohmann::json::parse(header, nullptr, false);
        if (!json.is_object() || has_nul(header)) refuse_header("is not a JSON object");
        std::uint64_t last = 0;
        for (const auto& [name, value] : json.items()) {
            if (name == "__metadata__") continue;
            tensors_.push_back(tensor_of(name, value));
            last = std::max(last, tensors_.back().end);
        }
        if (last != text.size() - data_) {
            reading_.refuse("says that its tensors end at offset " + std::to_string(data_ + last) +
                            ", but the file ends at " + std::to_string(text.size()));
        }
    }

    tensor tensor_of(const std::string& name, const nlohmann::json& value) const {
        tensor result;
        result.name = name;
        const auto sizes = [&](const char* key) {
            std::vector<std::uint64_t> all;
            const auto found = value.find(key);
            bool right = found != value.end() && found->is_array();
            for (std::size_t i = 0; right && i < found->size(); ++i) {
                right = (*found)[i].is_number_unsigned();
                if (right) all.push_back((*found)[i].get<std::uint64_t>());
            }
            if (!right)
                refuse_header("has no " + std::string(key) + " of whole numbers for " + io::quoted(name));
            return all;
        };
        if (!value.is_object()) refuse_header("has no object for " + io::quoted(name));
        const auto dtype = value.find("dtype");
        if (dtype == value.end() || !dtype->is_string())
            refuse_header("has no dtype for " + io::quoted(name));
        result.dtype = dtype->get<std::string>();
        result.shape = sizes("shape");
        const auto offsets = sizes("data_offsets");
        if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > reading_.bytes().size() - data_) {
            refuse_header("has data_offsets for " + io::quoted(name) + " that are not within the " +
                          std::to_string(reading_.bytes().size() - data_) + " bytes after it");
        }
        result.begin = offsets[0];
        result.end = offsets[1];
        return result;
    }

    const tensor& choose() const {
        const std::string& requested = reading_.options.tensor;
        const tensor* found = nullptr;
        std::size_t fitting = 0;
        std::string names;
        for (const tensor& each : tensors_) {
            const bool fits = each.shape.size() == 2 && type_of(each.dtype);
            if (requested.empty() ? fits : each.name == requested) found = &each;
            if (!fits) continue;
            constexpr std::size_t shown = 10;
            if (++fitting <= shown) names += (names.empty() ? "" : ", ") + io::quoted(each.name);
            if (fitting == shown + 1) names += ", …";
        }
        const std::string& file = reading_.made.file.name();
        if (!requested.empty() && found == nullptr) {
            throw usage_error(file + ": no tensor " + io::quoted(requested) +
                              (names.empty() ? "" : "; there are " + names));
        }
        if (requested.empty() && fitting > 1)
            throw usage_error(file + ": " + std::to_string(fitting) +
                              " tensors could be meant; name one of " + names);
        if (found == nullptr) reading_.refuse("no tensor of two dimensions whose numbers are read");
        return *found;
    }

    const vector_reading& reading_;
    std::vector<tensor> tensors_;
    std::uint64_t data_ = 0;  ///< where the tensors begin
};

}  // namespace

void read_safetensors(vector_reading& reading) {
    take_rows(reading, safetensors_reader(reading).rows());
}

}  // namespace quern::io
