// SPDX-License-Identifier: Apache-2.0
// Values of all rows on the CPU: one row and a block of queries at a time. Threads share the rows, and also the queries if
// there are too few rows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/distance/keys_cpu.hpp"
#include "ops/nearest/ranking/bounded_distance.hpp"
#include "ops/nearest/ranking/pair_distances.hpp"

namespace quern::nearest_detail {
namespace {

/// work(first, last, begin, end): rows and queries of a piece.
template <class Work>
void for_each_block(cpu_place& place, std::size_t rows, std::size_t queries, std::size_t min_queries,
                    const Work& work) {
    const std::size_t row_pieces = pieces_for(place, rows, 64, 16);
    const std::size_t query_pieces =
        row_pieces >= 4 * std::size_t{place.threads()} ? 1 : pieces_for(place, queries, min_queries);
    for_each_piece(place, row_pieces * query_pieces, [&](std::size_t p) {
        const auto [first, last] = piece_of(rows, row_pieces, p / query_pieces);
        const auto [begin, end] = piece_of(queries, query_pieces, p % query_pieces);
        work(first, last, begin, end);
    });
}

}  // namespace

void value_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                vector_metric metric, std::span<const std::uint32_t> rows, std::span<std::uint64_t> keys) {
    constexpr std::size_t block_bytes = 256 << 10;  // of queries: a part of a core's second-level cache
    const std::size_t count = rows.empty() ? tile.rows : rows.size();
    if (count == 0 || queries.rows == 0) return;
    const pair_distances meter(place, queries, metric);
    const std::size_t at_once =
        std::clamp<std::size_t>(block_bytes / (8 * std::size_t{tile.dimensions}) / 4 * 4, 4, 256);
    for_each_block(place, count, queries.rows, 64,
                   [&](std::size_t first, std::size_t last, std::size_t begin, std::size_t end) {
                       pair_distances::scratch mine;
                       std::vector<double> values(at_once);
                       for (std::size_t q = begin; q < end; q += at_once) {
                           place.ctx().check_stop();
                           const std::size_t requested = std::min(at_once, end - q);
                           for (std::size_t i = first; i < last; ++i) {
                               const std::uint32_t row = requested_row(rows, i);
                               meter.measure(tile.values.data() + row * tile.stride, q, requested,
                                             values.data(), mine);
                               for (std::size_t j = 0; j < requested; ++j)
                                   keys[(q + j) * count + i] = key_of_value(metric, values[j]);
                           }
                       }
                   });
}

void value_keys(cpu_place& place, const sparse_tile<cpu_place>& tile, const sparse_tile<cpu_place>& queries,
                vector_metric metric, std::span<const std::uint32_t> rows, std::span<std::uint64_t> keys) {
    const std::size_t count = rows.empty() ? tile.rows : rows.size();
    const sparse_rows set = rows_of(tile), requested = rows_of(queries);
    for_each_block(place, count, queries.rows, 1,
                   [&](std::size_t first, std::size_t last, std::size_t begin, std::size_t end) {
                       for (std::size_t q = begin; q < end; ++q) {
                           place.ctx().check_stop();
                           for (std::size_t i = first; i < last; ++i)
                               keys[q * count + i] = key_of_value(
                                   metric, sparse_value(metric, set[requested_row(rows, i)], requested[q]));
                       }
                   });
}

}  // namespace quern::nearest_detail
