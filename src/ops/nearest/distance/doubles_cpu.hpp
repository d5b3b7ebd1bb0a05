// SPDX-License-Identifier: Apache-2.0
// Rank keys of rows of f64 on the CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/distance/double_kernels.hpp"
#include "ops/nearest/distance/keys_cpu.hpp"

namespace quern::nearest_detail {

/// distance_keys of such tiles: one row and a block of queries at a time. Threads share the rows, and also the queries if
/// there are too few rows.
template <class Key>
void double_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                 vector_metric metric, std::span<const std::uint32_t> rows, std::span<Key> keys) {
    constexpr std::size_t block_bytes = 256 << 10;  // of queries: a part of a core's second-level cache
    const std::size_t count = rows.empty() ? tile.rows : rows.size();
    const std::size_t at_once =
        std::clamp<std::size_t>(block_bytes / bytes_of_row(tile.type, tile.dimensions) / 4 * 4, 4, 256);
    const part_kind kind = part_of(metric);
    const std::size_t row_pieces = pieces_for(place, count, 64, 16);
    const std::size_t query_pieces =
        row_pieces >= 4 * std::size_t{place.threads()} ? 1 : pieces_for(place, queries.rows, 64);
    for_each_piece(place, row_pieces * query_pieces, [&](std::size_t p) {
        const auto [first, last] = piece_of(count, row_pieces, p / query_pieces);
        const auto [begin, end] = piece_of(queries.rows, query_pieces, p % query_pieces);
        std::vector<double> sums(at_once);
        for (std::size_t q = begin; q < end; q += at_once) {
            place.ctx().check_stop();
            const std::size_t requested = std::min(at_once, end - q);
            const auto* const b = row_at<vector_type::f64>(queries.values.data(), queries.stride, q);
            for (std::size_t i = first; i < last; ++i) {
                const std::uint32_t row = requested_row(rows, i);
                sum_doubles(kind, row_at<vector_type::f64>(tile.values.data(), tile.stride, row), b,
                            queries.stride / sizeof(double), requested, tile.dimensions, sums.data());
                for (std::size_t j = 0; j < requested; ++j)
                    keys[(q + j) * count + i] =
                        key_of_sum<Key>(metric, sums[j], square_of(tile, row),
                                        square_of(queries, static_cast<std::uint32_t>(q + j)));
            }
        }
    });
}

}  // namespace quern::nearest_detail
