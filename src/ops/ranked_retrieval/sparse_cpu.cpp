// SPDX-License-Identifier: Apache-2.0
// Sparse rows on the CPU: what is known of them, and exact distances.
#include <array>
#include <cmath>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/ranked_retrieval/sparse_pair.hpp"
#include "ops/ranked_retrieval/tile.hpp"

namespace quern::ranked_retrieval_detail {
namespace {

constexpr std::size_t rows_at_least = 256;  // of a piece
using sums16 = std::array<float, partial_sums>;

bool columns_are_right(sparse_row row, std::uint32_t dimensions) {
    bool right = row.size == 0 || row.columns[row.size - 1] < dimensions;
    for (std::uint64_t e = 1; e < row.size; ++e) right &= row.columns[e - 1] < row.columns[e];
    return right;
}

/// Looks at one row; `facts` are of rows before it.
void look_at(sparse_row row, std::uint32_t i, std::uint32_t dimensions, row_facts& facts) {
    bool right = columns_are_right(row, dimensions);
    for (std::uint64_t e = 0; e < row.size; ++e) {
        const float size = std::fabs(row.values[e]);
        if (!is_finite(size)) {
            right = false;
        } else if (size > facts.greatest) {
            facts.greatest = size;
            facts.greatest_row = i;
        }
    }
    if (!right && facts.bad_row == no_row) facts.bad_row = i;
}

double sum_of_squares(sparse_row row) {
    sums16 sums{};
    for (std::uint64_t e = 0; e < row.size; ++e)
        sums[row.columns[e] % partial_sums] += row.values[e] * row.values[e];
    return double{joined_sums<part_kind::products>(sums.data())};
}

void check_sizes(std::size_t squares, std::uint32_t rows) {
    if (squares != 0 && squares != rows)
        throw usage_error("sums of squares are wanted of every row or of none");
}

}  // namespace

row_facts facts_of(cpu_place& place, const sparse_tile<cpu_place>& tile, std::span<double> squares) {
    check_sizes(squares.size(), tile.rows);
    const std::size_t pieces = pieces_for(place, tile.rows, rows_at_least);
    std::vector<row_facts> found(pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(tile.rows, pieces, p);
        row_facts facts;
        for (std::size_t i = begin; i < end; ++i) {
            const sparse_row row = rows_of(tile)[i];
            look_at(row, static_cast<std::uint32_t>(i), tile.dimensions, facts);
            if (!squares.empty()) squares[i] = sum_of_squares(row);
        }
        found[p] = facts;
    });
    row_facts whole;
    for (const row_facts& facts : found) {
        if (whole.bad_row == no_row) whole.bad_row = facts.bad_row;
        if (facts.greatest > whole.greatest) {
            whole.greatest = facts.greatest;
            whole.greatest_row = facts.greatest_row;
        }
    }
    return whole;
}

template <class Key>
void distance_keys(cpu_place& place, const sparse_tile<cpu_place>& tile,
                   const sparse_tile<cpu_place>& queries, vector_metric metric,
                   std::span<const std::uint32_t> rows, std::span<Key> keys) {
    const std::size_t n = rows.empty() ? tile.rows : rows.size();
    const std::size_t pieces = pieces_for(place, n, rows_at_least);
    with_part_kind(metric, [&](auto kind) {
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(n, pieces, p);
            for (std::size_t at = begin; at < end; ++at) {
                if (at % rows_at_least == 0) place.run().check_stop();
                const std::size_t i = rows.empty() ? at : rows[at];
                const sparse_row row = rows_of(tile)[i];
                for (std::size_t q = 0; q < queries.rows; ++q) {
                    sums16 sums{};
                    for_each_part<kind>(row, rows_of(queries)[q], [&](std::uint32_t column, float part) {
                        add_part<kind>(sums[column % partial_sums], part);
                    });
                    const double x = tile.squares.empty() ? 0 : tile.squares[i];
                    const double y = queries.squares.empty() ? 0 : queries.squares[q];
                    keys[q * n + at] =
                        key_of_parts(metric, joined_sums<kind>(sums.data()), {x, y, std::sqrt(x * y)});
                }
            }
        });
    });
}

template void distance_keys<std::uint32_t>(cpu_place&, const sparse_tile<cpu_place>&,
                                           const sparse_tile<cpu_place>&, vector_metric,
                                           std::span<const std::uint32_t>, std::span<std::uint32_t>);

}  // namespace quern::ranked_retrieval_detail
