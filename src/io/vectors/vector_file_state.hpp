// SPDX-License-Identifier: Apache-2.0
// The contents of an open file of vectors, and helpers that the readers of its formats share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cpu/parallel.hpp"
#include "device/large_array.hpp"
#include "io/files/mapped_file.hpp"
#include "io/vectors/vector_file.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

struct vector_file::state {
    whole_file file;
    std::string_view format;
    vectors_view dense;
    sparse_vectors_view sparse;
    bool is_sparse = false;
    std::vector<std::string> notes;
    std::vector<std::string_view> names;

    // The memory of the views, if it is not the file.
    large_array<std::byte> values;
    large_array<char> name_bytes;
    large_array<std::uint64_t> offsets;
    large_array<std::uint32_t> columns;
    large_array<float> entries;
};

/// The file being read, as passed to readers. `bytes` are plain.
struct vector_reading {
    vector_file::state& made;
    const vector_file_options& options;
    cpu_place& place;

    std::span<const std::byte> bytes() const { return made.file.bytes(); }
    std::string_view text() const { return made.file.text(); }
    [[noreturn]] void refuse(const std::string& reason) const;
    [[noreturn]] void refuse_line(std::uint64_t line, const std::string& reason) const;
};

/// The position of a fault, before one is found.
inline constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();

/// The least of what several threads find, whatever their order.
template <class Value>
void lower_to(std::atomic<Value>& least, Value value) {
    Value now = least.load(std::memory_order_relaxed);
    while (value < now && !least.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
    }
}

// ---- Number types in files ----

enum class number_type { f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, boolean };

std::string_view name_of(number_type type);
constexpr unsigned size_of(number_type type) {
    using enum number_type;
    switch (type) {
        case i8:
        case u8:
        case boolean:
            return 1;
        case f16:
        case bf16:
        case i16:
        case u16:
            return 2;
        case f32:
        case i32:
        case u32:
            return 4;
        default:
            return 8;
    }
}

/// Row i begins at bytes()[begin + i · stride].
struct number_rows {
    number_type type = number_type::f32;
    bool big_endian = false;
    std::uint64_t rows = 0, columns = 0;
    std::uint64_t begin = 0, stride = 0;
};

/// The product, if it is below 2^63.
std::optional<std::uint64_t> product_of(std::uint64_t a, std::uint64_t b, std::uint64_t c = 1);

/// Contiguous rows (stride = columns · size). Refuses a file that does not end with the last row.
number_rows rows_to_the_end(const vector_reading& reading, number_type type, std::uint64_t rows,
                            std::uint64_t columns, std::uint64_t begin);

/// Makes them the file's vectors: in place, or converted.
void take_rows(vector_reading& reading, const number_rows& rows);

// ---- The formats ----

inline constexpr std::string_view npy_magic = "\x93NUMPY";
inline constexpr std::string_view byte_order_mark =
    "\xef\xbb\xbf";  ///< of UTF-8; editors write it before a text

void read_npy(vector_reading& reading);
void read_vecs(vector_reading& reading, number_type type);
void read_bin(vector_reading& reading, number_type type);
void read_idx(vector_reading& reading);
void read_text(vector_reading& reading);
/// Whether the first line of a file is text that ends with a number.
bool begins_with_row(std::string_view bytes);
void read_word2vec(vector_reading& reading);  ///< binary
void read_json_lines(vector_reading& reading);
void read_safetensors(vector_reading& reading);
void read_matrix_market(vector_reading& reading);
void read_csr(vector_reading& reading);

// Where the numbers are.
number_rows npy_rows(const vector_reading& reading);
number_rows vecs_rows(const vector_reading& reading, number_type type);

/// A lower-case name without the suffix of compression, and whether it had one; also without big-ann-benchmarks'
/// ".crop_nb_1000".
struct plain_name {
    explicit plain_name(std::string_view path);
    std::string text;
    bool says_compressed = false;
};

/// Calls read() with the plain bytes of reading.made.file. `as_they_are`: first tries bytes that look compressed as
/// they are, because numbers may begin like compressed data: an .fbin of 35,615 rows begins like gzip.
template <class Read>
void read_plain(vector_reading& reading, bool as_they_are, const Read& read) {
    if (reading.made.file.look_compressed()) {
        if (as_they_are) {
            try {
                return read();
            } catch (const invalid_input&) {
                reading.made.notes.clear();
            }
        }
        reading.made.file.decompress(reading.place.ctx(), reading.place.memory());
    }
    read();
}

/// Calls work(begin, end) for ranges of the rows, by all threads.
template <class Work>
void over_rows(cpu_place& place, std::uint64_t rows, std::uint64_t row_bytes, const Work& work) {
    constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << 21;
    const std::uint64_t each = std::max<std::uint64_t>(1, chunk_bytes / row_bytes);
    for_each_piece(place, (rows + each - 1) / each, [&](std::size_t p) {
        place.ctx().check_stop();
        work(p * each, std::min(rows, (p + 1) * each));
    });
}

}  // namespace quern::io
