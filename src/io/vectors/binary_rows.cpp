// SPDX-License-Identifier: Apache-2.0
// Formats with a header of a few numbers:
// - .fvecs, .bvecs, .ivecs: every row begins with its length, a 32-bit integer (corpus-texmex.irisa.fr);
// - .fbin, .u8bin, .i8bin, .ibin: rows and columns first, 32 bits each (big-ann-benchmarks);
// - idx (MNIST): the type, the number of dimensions, each size in 32 bits, all big-endian.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <string>

#include "device/cpu/parallel.hpp"
#include "io/files/atomic_file.hpp"
#include "io/vectors/vector_file.hpp"
#include "io/vectors/vector_file_state.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

std::uint32_t integer_at(const vector_reading& reading, std::uint64_t offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, reading.bytes().data() + offset, sizeof value);
    return value;
}

std::uint32_t big_endian_at(const vector_reading& reading, std::uint64_t offset) {
    return __builtin_bswap32(integer_at(reading, offset));
}

[[noreturn]] void refuse_header(const vector_reading& reading) {
    reading.refuse("the file ends within the header at offset " + std::to_string(reading.bytes().size()));
}

}  // namespace

number_rows vecs_rows(const vector_reading& reading, number_type type) {
    constexpr std::uint64_t length_bytes = 4;
    const std::uint64_t size = reading.bytes().size();
    if (size < length_bytes) refuse_header(reading);
    const std::uint32_t columns = integer_at(reading, 0);
    if (columns == 0 || columns >> 31 != 0) {
        reading.refuse("row 0 says at offset 0 that it has " +
                       std::to_string(static_cast<std::int32_t>(columns)) +
                       " numbers; a vector has 1 and more");
    }
    const std::uint64_t stride = length_bytes + std::uint64_t{columns} * size_of(type), rows = size / stride;
    std::atomic<std::uint64_t> first_bad{rows};
    constexpr std::uint64_t each = std::uint64_t{1} << 14;  // rows
    for_each_piece(reading.place, (rows + each - 1) / each, [&](std::size_t p) {
        reading.place.ctx().check_stop();
        const std::uint64_t end = std::min(rows, (p + 1) * each);
        std::uint64_t i = p * each;
        while (i < end && integer_at(reading, i * stride) == columns) ++i;
        if (i < end) lower_to(first_bad, i);
    });
    // A truncated row may be the beginning of a longer one.
    const std::uint64_t bad = first_bad.load(), offset = bad * stride;
    const bool has_length = size - offset >= length_bytes;
    if (offset != size && has_length && integer_at(reading, offset) != columns) {
        reading.refuse("row " + std::to_string(bad) + " says at offset " + std::to_string(offset) +
                       " that it has " +
                       std::to_string(static_cast<std::int32_t>(integer_at(reading, offset))) +
                       " numbers; row 0 has " + std::to_string(columns));
    }
    if (offset != size) {
        reading.refuse("row " + std::to_string(bad) + " of " + std::to_string(columns) +
                       " numbers begins at offset " + std::to_string(offset) + ", but the file ends at " +
                       std::to_string(size));
    }
    return {type, false, rows, columns, length_bytes, stride};
}

void read_vecs(vector_reading& reading, number_type type) {
    take_rows(reading, vecs_rows(reading, type));
}

void read_bin(vector_reading& reading, number_type type) {
    constexpr std::uint64_t header = 8;
    if (reading.bytes().size() < header) refuse_header(reading);
    take_rows(reading,
              rows_to_the_end(reading, type, integer_at(reading, 0), integer_at(reading, 4), header));
}

void read_idx(vector_reading& reading) {
    using enum number_type;
    constexpr std::uint64_t magic = 4;
    if (reading.bytes().size() < magic) refuse_header(reading);
    const std::uint32_t first = big_endian_at(reading, 0), code = first >> 8, dimensions = first & 0xff;
    constexpr std::pair<std::uint32_t, number_type> types[] = {{0x08, u8},  {0x09, i8},  {0x0b, i16},
                                                               {0x0c, i32}, {0x0d, f32}, {0x0e, f64}};
    const auto* const found = std::find_if(std::begin(types), std::end(types),
                                           [&](const auto& each) { return each.first == code; });
    if (found == std::end(types))
        reading.refuse("not an idx file (expected two zeros and the code of a type, 8 to 14)");
    if (dimensions == 0) reading.refuse("says at offset 3 that it has no dimensions");
    const std::uint64_t begin = magic + 4 * std::uint64_t{dimensions};
    if (reading.bytes().size() < begin) refuse_header(reading);
    std::uint64_t columns = 1;
    for (std::uint64_t d = 1; d < dimensions; ++d) {
        const auto product = product_of(columns, big_endian_at(reading, magic + 4 * d));
        if (!product) reading.refuse("the sizes at offset 8 multiply to more than 2^63 numbers a row");
        columns = *product;
    }
    number_rows rows = rows_to_the_end(reading, found->second, big_endian_at(reading, magic), columns, begin);
    rows.big_endian = size_of(rows.type) > 1;
    take_rows(reading, rows);
}

/// .ibin and .fbin as big-ann-benchmarks have them: rows and columns in 32 bits each, then the values by rows.
struct bin_writer::state {
    state(const std::filesystem::path& path, std::uint64_t row_count, std::uint64_t column_count,
          existing policy)
        : file(path, policy), rows(row_count), columns(column_count) {}

    template <class T>
    void append(std::span<const T> values) {
        static_assert(sizeof(T) == 4);
        if (values.size() != columns) {
            throw usage_error(file.path().string() + ": row " + std::to_string(written) + " has " +
                              std::to_string(values.size()) + " values; the others have " +
                              std::to_string(columns));
        }
        if (written == rows)
            throw usage_error(file.path().string() + ": more than the " + std::to_string(rows) +
                              " rows that its header states");
        file.writer().append_values(values);
        ++written;
    }

    void require_all() const {
        if (written == rows) return;
        throw usage_error(file.path().string() + ": " + std::to_string(written) + " of " +
                          std::to_string(rows) + " rows were written");
    }

    atomic_file file;
    std::uint64_t rows, columns, written = 0;
};

bin_writer::bin_writer(const std::filesystem::path& path, std::uint64_t rows, std::uint64_t columns,
                       bool replace) {
    constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
    if (rows > max || columns > max) {
        throw usage_error(path.string() + ": " + std::to_string(rows) + " rows of " +
                          std::to_string(columns) + " values; a header of 32-bit numbers cannot say so");
    }
    state_ = std::make_unique<state>(path, rows, columns, replace ? existing::replace : existing::refuse);
    const std::uint32_t header[] = {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns)};
    state_->file.writer().append_values(std::span<const std::uint32_t>(header));
}

bin_writer::~bin_writer() = default;
bin_writer::bin_writer(bin_writer&&) noexcept = default;

void bin_writer::row(std::span<const std::uint32_t> values) {
    state_->append(values);
}
void bin_writer::row(std::span<const float> values) {
    state_->append(values);
}

void bin_writer::commit() {
    state_->require_all();
    state_->file.commit();
}

void bin_writer::commit_together(bin_writer& a, bin_writer& b) {
    for (const bin_writer* const writer : {&a, &b}) writer->state_->require_all();
    atomic_file* const files[] = {&a.state_->file, &b.state_->file};
    atomic_file::commit_together(files);
}

}  // namespace quern::io
