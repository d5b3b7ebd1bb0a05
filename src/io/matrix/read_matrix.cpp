// SPDX-License-Identifier: Apache-2.0
// Entries are read in file order, then moved to their rows by a counting sort: each thread counts the rows of its range
// of the entries, so that their destinations are known and the file's order is kept.
#include "io/matrix/read_matrix.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "io/lines/read_blocks.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Reads blocks and checks the number of lines: a header may be wrong.
template <class Parse>
void read_counted(text_blocks& lines, object_pool<link_block>& pool, std::optional<std::uint64_t> expected,
                  const std::string& what, link_store& into, const Parse& parse) {
    std::uint64_t entries = 0;
    const auto position_block = [&](link_block& block, std::uint64_t lines_before) {
        if (expected && block.entries > *expected - entries) {
            throw invalid_input(
                lines.name(), lines_before + line_of_entry(block.lines, *expected - entries),
                "more than the " + std::to_string(*expected) + " " + what + " that the header states");
        }
        entries += block.entries;
        if (!block.issue) into.position_block(block);
    };
    const std::uint64_t line_count =
        read_blocks(lines, pool, {parse, position_block, [&](link_block& block) { into.store(block); }});
    if (!expected || entries == *expected) return;
    throw invalid_input(lines.name(), line_count,
                        "the input ends here, after " + std::to_string(entries) + " of " +
                            std::to_string(*expected) + " " + what);
}

}  // namespace

link_store::link_store(memory_budget& budget, bool with_links, bool with_weights) {
    if (with_links) links = large_array<link>(budget, "the links of a graph");
    if (with_weights) weights = large_array<double>(budget, "the weights of a graph");
}

void link_store::position_block(link_block& block) {
    block.position = std::max(links.size(), weights.size());
    if (links.data() != nullptr) links.grow(block.position + block.size);
    if (weights.data() != nullptr) weights.grow(block.position + block.size);
}

void link_store::store(const link_block& block) const {
    if (block.size == 0) return;
    if (links.data() != nullptr)
        std::memcpy(links.data() + block.position, block.links.get(), block.size * sizeof(link));
    if (weights.data() != nullptr)
        std::memcpy(weights.data() + block.position, block.weights.get(), block.size * sizeof(double));
}

void link_store::settle() noexcept {
    links.settle();
    weights.settle();
}

void read_entries(text_blocks& lines, object_pool<link_block>& pool, const matrix_header& header,
                  entry_values values, link_store& into) {
    read_counted(lines, pool, header.lines, "entries", into,
                 [&](link_block& block) { parse_entry_lines(block, header, values); });
}

void read_values(text_blocks& lines, object_pool<link_block>& pool, std::optional<std::uint64_t> expected,
                 link_store& into) {
    read_counted(lines, pool, expected, "values", into, [](link_block& block) { parse_value_lines(block); });
}

namespace {

constexpr std::size_t min_piece = std::size_t{1} << 15;
constexpr std::string_view for_what = "the rows of a matrix";

matrix_rows empty_rows(cpu_place& place, const matrix_header& header, std::uint64_t entries) {
    matrix_rows result{header.rows, header.columns, large_array<std::uint64_t>(place.memory(), for_what),
                       large_array<std::uint32_t>(place.memory(), for_what),
                       large_array<double>(place.memory(), for_what)};
    result.offsets.grow(std::uint64_t{header.rows} + 1);
    result.column.grow(entries);
    result.value.grow(entries);
    return result;
}

void settle(matrix_rows& matrix) {
    matrix.offsets.settle();
    matrix.column.settle();
    matrix.value.settle();
}

/// Ranges of the entries, each with a count for every row: as many as threads, unless the counts would outgrow the
/// entries.
std::size_t chunks_for(const cpu_place& place, std::uint64_t entries, std::uint32_t rows) {
    const std::uint64_t affordable = entries * 2 / (std::uint64_t{rows} + 1);
    return std::clamp<std::uint64_t>(affordable, 1, pieces_for(place, entries, min_piece, 1));
}

matrix_rows by_row(cpu_place& place, const matrix_header& header, const link_store& entries) {
    const std::uint64_t count = entries.links.size(), rows = header.rows;
    matrix_rows result = empty_rows(place, header, count);
    if (count == 0) return result;
    const std::size_t chunks = chunks_for(place, count, header.rows);
    const cpu_array<std::uint64_t> next(place, chunks * rows, for_what);
    for_each_piece(place, chunks, [&](std::size_t s) {
        const auto [begin, end] = piece_of(count, chunks, s);
        std::uint64_t* const counts = next.data() + s * rows;
        std::fill_n(counts, rows, 0);
        for (std::size_t i = begin; i < end; ++i) ++counts[entries.links[i].from];
    });
    std::uint64_t sum = 0;
    for (std::uint64_t row = 0; row < rows; ++row) {
        result.offsets[row] = sum;
        for (std::size_t s = 0; s < chunks; ++s) sum += std::exchange(next.data()[s * rows + row], sum);
    }
    result.offsets[rows] = sum;
    for_each_piece(place, chunks, [&](std::size_t s) {
        const auto [begin, end] = piece_of(count, chunks, s);
        std::uint64_t* const at = next.data() + s * rows;
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint64_t to = at[entries.links[i].from]++;
            result.column[to] = entries.links[i].to;
            result.value[to] = entries.weights.empty() ? 1 : entries.weights[i];
        }
    });
    return result;
}

/// Values column by column, of a symmetric matrix those on and below the diagonal (below it, if skew) → all values, by
/// row.
matrix_rows from_dense(cpu_place& place, const matrix_header& header, std::span<const double> values) {
    using symmetry_kind = matrix_header::symmetry_kind;
    const std::uint64_t rows = header.rows, columns = header.columns;
    matrix_rows result = empty_rows(place, header, rows * columns);
    const bool skew = header.symmetry == symmetry_kind::skew;
    // Column j of a symmetric array follows j columns of decreasing length.
    const auto at = [&](std::uint64_t i, std::uint64_t j) {
        if (header.symmetry == symmetry_kind::general) return values[j * rows + i];
        if (i == j && skew) return 0.0;
        const std::uint64_t low = std::max(i, j), high = std::min(i, j);
        const std::uint64_t before =
            skew ? high * (2 * rows - high - 1) / 2 : high * (2 * rows - high + 1) / 2;
        const double value = values[before + low - high - (skew ? 1 : 0)];
        return skew && i < j ? -value : value;
    };
    for (std::uint64_t i = 0; i <= rows; ++i) result.offsets[i] = i * columns;
    const std::size_t pieces = pieces_for(place, rows, std::max<std::size_t>(1, min_piece / (columns + 1)));
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(rows, pieces, p);
        for (std::uint64_t i = begin; i < end; ++i) {
            for (std::uint64_t j = 0; j < columns; ++j) {
                result.column[i * columns + j] = static_cast<std::uint32_t>(j);
                result.value[i * columns + j] = at(i, j);
            }
        }
    });
    return result;
}

}  // namespace

matrix_rows read_matrix(byte_source& source, const context& ctx) {
    text_blocks lines(source, ctx);
    const matrix_header header = read_matrix_header(lines);
    cpu_place place(ctx);
    object_pool<link_block> blocks;
    link_store stored(place.memory(), !header.dense, !header.pattern);
    if (header.dense)
        read_values(lines, blocks, header.lines, stored);
    else
        read_entries(lines, blocks, header, header.pattern ? entry_values::none : entry_values::numbers,
                     stored);
    matrix_rows result =
        header.dense ? from_dense(place, header, stored.weights.span()) : by_row(place, header, stored);
    settle(result);
    return result;
}

matrix_rows read_matrix(const std::filesystem::path& path, const context& ctx) {
    return read_matrix(*open_bytes(path, ctx), ctx);
}

std::vector<double> read_vector(byte_source& source, const context& ctx) {
    text_blocks lines(source, ctx);
    if (lines.begins_with("\x93NUMPY"))
        throw invalid_input(
            lines.name(), 0,
            "a file of NumPy; a vector is one number a line (numpy.savetxt), or a Matrix Market array");
    std::optional<std::uint64_t> expected;
    if (lines.begins_with(matrix_market_banner)) {
        const matrix_header header = read_matrix_header(lines);
        if (!header.dense) throw invalid_input(lines.name(), 1, "a vector is an array, or one number a line");
        if (header.symmetry != matrix_header::symmetry_kind::general)
            throw invalid_input(lines.name(), 1, "a vector is a general array");
        if (header.rows != 1 && header.columns != 1) {
            throw invalid_input(lines.name(), header.size_line,
                                std::to_string(header.rows) + " rows and " + std::to_string(header.columns) +
                                    " columns; a vector has one of either");
        }
        expected = header.lines;
    }
    cpu_place place(ctx);
    object_pool<link_block> blocks;
    link_store stored(place.memory(), false, true);
    read_values(lines, blocks, expected, stored);
    const auto values = stored.weights.span();
    return {values.begin(), values.end()};
}

std::vector<double> read_vector(const std::filesystem::path& path, const context& ctx) {
    return read_vector(*open_bytes(path, ctx), ctx);
}

}  // namespace quern::io
