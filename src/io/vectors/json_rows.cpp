// SPDX-License-Identifier: Apache-2.0
// Vectors as JSON lines: {"id": "a", "vector": [0.5, -1]}, as embedding services and their users write them. The id becomes
// the name of the row.
#include <simdjson.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "io/vectors/vector_file_state.hpp"

namespace quern::io {
namespace {

constexpr std::string_view vector_names[] = {"vector", "embedding", "values"};

class json_vectors_reader {
  public:
    explicit json_vectors_reader(vector_reading& reading) : reading_(reading), text_(reading.text()) {
        if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
    }

    void read() {
        for (std::size_t begin = 0; begin < text_.size();) {
            const std::size_t end = std::min(text_.find('\n', begin), text_.size());
            ++line_;
            if (line_ % 1024 == 0) reading_.place.ctx().check_stop();
            if (const auto line = text_.substr(begin, end - begin);
                line.find_first_not_of(" \t\r") != std::string_view::npos)
                take(line);
            begin = end + 1;
        }
        vector_file::state& made = reading_.made;
        made.values =
            large_array<std::byte>(reading_.place.memory(), "vectors", floats_.size() * sizeof(float));
        made.values.settle();
        if (!floats_.empty()) std::memcpy(made.values.data(), floats_.data(), floats_.size() * sizeof(float));
        if (rows_ == 0) reading_.refuse("no vectors (expected lines with an id and a vector)");
        made.dense = {vector_type::f32, rows_, static_cast<std::uint32_t>(columns_), columns_ * sizeof(float),
                      made.values.span()};
        if (ends_.empty()) return;
        made.name_bytes = large_array<char>(reading_.place.memory(), "the ids of vectors", ids_.size());
        made.name_bytes.settle();
        if (!ids_.empty()) std::memcpy(made.name_bytes.data(), ids_.data(), ids_.size());
        std::uint64_t begin = 0;
        for (const std::uint64_t end : ends_) {
            made.names.emplace_back(made.name_bytes.data() + begin, end - begin);
            begin = end;
        }
    }

  private:
    [[noreturn]] void refuse(const std::string& reason) const { reading_.refuse_line(line_, reason); }

    void take(std::string_view line) {
        simdjson::dom::element root;
        simdjson::dom::object object;
        if (parser_.parse(line.data(), line.size()).get(root) != simdjson::SUCCESS)
            refuse("not JSON (expected an object with an id and a vector)");
        if (root.get_object().get(object) != simdjson::SUCCESS)
            refuse("not a JSON object (expected one with an id and a vector)");
        std::optional<std::string> id;
        std::optional<simdjson::dom::element> vector;
        for (const auto& [key, value] : object) {
            if (key == "id" || key == "_id") id = id_of(value);
            for (const std::string_view name : vector_names)
                if (key == name) vector = value;
        }
        if (!vector) refuse("no vector (expected \"vector\", \"embedding\" or \"values\")");
        if (rows_ != 0 && id.has_value() != !ends_.empty())
            refuse(id ? "it has an id, but the vectors before it have none"
                      : "it has no id, but the vectors before it have one");
        take_numbers(*vector, id ? "the vector of '" + *id + "'" : "the vector");
        if (id) {
            ids_ += *id;
            ends_.push_back(ids_.size());
        }
        ++rows_;
    }

    std::string id_of(const simdjson::dom::element& value) const {
        std::string_view text;
        std::int64_t number = 0;
        if (value.get_string().get(text) == simdjson::SUCCESS) return std::string(text);
        if (value.get_int64().get(number) == simdjson::SUCCESS) return std::to_string(number);
        refuse("the id is neither a string nor an integer");
    }

    void take_numbers(const simdjson::dom::element& vector, const std::string& what) {
        simdjson::dom::array numbers;
        if (vector.get_array().get(numbers) != simdjson::SUCCESS) refuse(what + " is not an array");
        const std::size_t before = floats_.size();
        for (const simdjson::dom::element& of : numbers) {
            double value = 0;
            if (of.get_double().get(value) != simdjson::SUCCESS)
                refuse(what + " has a value that is not a number");
            const auto narrow = static_cast<float>(value);
            if (!std::isfinite(narrow)) refuse(what + " has a value beyond float32");
            floats_.push_back(narrow);
        }
        const std::size_t size = floats_.size() - before;
        if (size == 0) refuse(what + " has no numbers");
        if (rows_ == 0) columns_ = size;
        if (size != columns_)
            refuse(what + " has " + std::to_string(size) + " numbers; those before it have " +
                   std::to_string(columns_));
    }

    vector_reading& reading_;
    std::string_view text_;
    simdjson::dom::parser parser_;
    std::vector<float> floats_;
    std::string ids_;
    std::vector<std::uint64_t> ends_;
    std::uint64_t rows_ = 0, columns_ = 0, line_ = 0;
};

}  // namespace

void read_json_lines(vector_reading& reading) {
    json_vectors_reader(reading).read();
    reading.made.file.let_go();
}

}  // namespace quern::io
