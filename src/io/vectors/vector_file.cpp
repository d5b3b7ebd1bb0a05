// SPDX-License-Identifier: Apache-2.0
// Detects a file's format: by its first bytes if they are conclusive, else by its name, else by its first line.
#include "io/vectors/vector_file.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "io/matrix/matrix_market.hpp"
#include "io/vectors/vector_file_state.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

struct vector_format {
    std::string_view extension, name;
    void (*read)(vector_reading&);
};

template <number_type Type>
void read_vecs_of(vector_reading& reading) {
    read_vecs(reading, Type);
}
template <number_type Type>
void read_bin_of(vector_reading& reading) {
    read_bin(reading, Type);
}

constexpr vector_format npy{".npy", "npy", read_npy};
constexpr vector_format idx{".idx", "idx", read_idx};
constexpr vector_format matrix_market{".mtx", "Matrix Market", read_matrix_market};
constexpr vector_format json_lines{".jsonl", "JSON lines", read_json_lines};
constexpr vector_format text{".txt", "text", read_text};
constexpr vector_format others[] = {
    {".safetensors", "safetensors", read_safetensors},
    {".csr", "csr", read_csr},
    json_lines,
    {".ndjson", "JSON lines", read_json_lines},
    {".bin", "word2vec", read_word2vec},
    text,
    {".vec", "text", read_text},
    {".csv", "text", read_text},
    {".tsv", "text", read_text},
    {".fvecs", "fvecs", read_vecs_of<number_type::f32>},
    {".bvecs", "bvecs", read_vecs_of<number_type::u8>},
    {".ivecs", "ivecs", read_vecs_of<number_type::i32>},
    {".fbin", "fbin", read_bin_of<number_type::f32>},
    {".f16bin", "f16bin", read_bin_of<number_type::f16>},
    {".u8bin", "u8bin", read_bin_of<number_type::u8>},
    {".i8bin", "i8bin", read_bin_of<number_type::i8>},
    {".ibin", "ibin", read_bin_of<number_type::i32>},
};

/// MNIST's files end with "idx3-ubyte", after a point or a hyphen.
bool is_name_of_idx(std::string_view name) {
    const std::size_t at = name.rfind("idx");
    if (at == std::string_view::npos || at == 0 || (name[at - 1] != '.' && name[at - 1] != '-')) return false;
    const std::string_view rest = name.substr(at + 3);
    return rest.empty() || (rest.size() > 2 && rest[0] >= '1' && rest[0] <= '9' && rest[1] == '-');
}

const vector_format* format_by_content(std::string_view bytes) {
    if (bytes.starts_with(npy_magic)) return &npy;
    if (lower(bytes.substr(0, matrix_market_banner.size())) == lower(matrix_market_banner))
        return &matrix_market;
    return nullptr;
}

/// For a name that says nothing, such as - for standard input.
const vector_format* format_by_first_line(std::string_view bytes) {
    if (bytes.starts_with(byte_order_mark)) bytes.remove_prefix(byte_order_mark.size());
    if (bytes.starts_with('{')) return &json_lines;
    return begins_with_row(bytes) ? &text : nullptr;
}

const vector_format* format_by_name(std::string_view name) {
    if (name.ends_with(npy.extension)) return &npy;
    if (name.ends_with(matrix_market.extension)) return &matrix_market;
    if (is_name_of_idx(name)) return &idx;
    const auto* const found = std::find_if(std::begin(others), std::end(others),
                                           [&](const auto& each) { return name.ends_with(each.extension); });
    return found == std::end(others) ? nullptr : found;
}

void read_as(const vector_format* by_name, vector_reading& reading) {
    const vector_format* const by_content = format_by_content(reading.text());
    const vector_format* format = by_content != nullptr ? by_content : by_name;
    if (format == nullptr) format = format_by_first_line(reading.text());
    if (format == nullptr && reading.text().starts_with("PK\3\4")) {
        throw usage_error(reading.made.file.name() +
                          ": a zip archive, such as .npz; an array is saved alone with numpy.save(FILE, a)");
    }
    if (format == nullptr) {
        throw usage_error(
            reading.made.file.name() +
            ": neither its name nor its first bytes say what format it has; vectors are .npy, .fvecs, "
            ".bvecs, .ivecs, .fbin, .f16bin, .u8bin, .i8bin, .ibin, .idx, .safetensors, .txt, .vec, .csv, "
            ".tsv, .bin "
            "(word2vec's), .jsonl, .mtx and .csr");
    }
    if (!reading.options.tensor.empty() && format->read != read_safetensors) {
        throw usage_error(reading.made.file.name() + ": a file of format " + std::string(format->name) +
                          " has no tensors with names");
    }
    reading.made.format = format->name;
    format->read(reading);
}

void read_any(vector_reading& reading) {
    const plain_name name(reading.made.file.name());
    const vector_format* const by_name = format_by_name(name.text);
    read_plain(reading, by_name != nullptr && !name.says_compressed, [&] { read_as(by_name, reading); });
}

}  // namespace

plain_name::plain_name(std::string_view path) : text(lower(file_name(path))) {
    for (const std::string_view ending : {".gz", ".bz2", ".zst", ".zstd", ".xz"}) {
        if (says_compressed || !text.ends_with(ending)) continue;
        text.erase(text.size() - ending.size());
        says_compressed = true;
    }
    const std::size_t crop = text.find(".crop_nb_");
    if (crop != std::string::npos) text.erase(crop);
}

vector_file::vector_file() : state_(std::make_unique<state>()) {}
vector_file::~vector_file() = default;
vector_file::vector_file(vector_file&&) noexcept = default;
vector_file& vector_file::operator=(vector_file&&) noexcept = default;

bool vector_file::sparse() const {
    return state_->is_sparse;
}
const vectors_view& vector_file::dense() const {
    return state_->dense;
}
const sparse_vectors_view& vector_file::sparse_rows() const {
    return state_->sparse;
}
std::uint64_t vector_file::rows() const {
    return sparse() ? state_->sparse.rows : state_->dense.rows;
}
std::uint32_t vector_file::dimensions() const {
    return sparse() ? state_->sparse.dimensions : state_->dense.dimensions;
}
std::span<const std::string_view> vector_file::names() const {
    return state_->names;
}
std::string_view vector_file::format() const {
    return state_->format;
}
std::span<const std::string> vector_file::notes() const {
    return state_->notes;
}
std::uint64_t vector_file::file_bytes() const {
    return state_->file.size_on_disk();
}

vector_file open_vectors(const std::filesystem::path& path, const vector_file_options& options,
                         const context& ctx) {
    cpu_place place(ctx);  // destroyed after unfinished work
    vector_file opened;
    opened.state_->file = whole_file(path, ctx, place.memory());
    vector_reading reading{*opened.state_, options, place};
    read_any(reading);
    return opened;
}

}  // namespace quern::io
