// SPDX-License-Identifier: Apache-2.0
// Zhou et al. 2011 on the CPU: one vector after another, its sixteen partial sums in parallel, then their tree.
#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/distance/keys_cpu.hpp"

namespace quern::nearest_detail {
namespace {

template <vector_type Type, part_kind Kind, class Key>
void rank_rows(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
               vector_metric metric, std::span<const std::uint32_t> rows, std::span<Key> keys) {
    const std::size_t count = rows.empty() ? tile.rows : rows.size();
    const std::size_t pieces = pieces_for(place, count, 256, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(count, pieces, p);
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint32_t row = requested_row(rows, i);
            const auto* const a = row_at<Type>(tile.values.data(), tile.stride, row);
            for (std::uint32_t q = 0; q < queries.rows; ++q) {
                const auto* const b = row_at<Type>(queries.values.data(), queries.stride, q);
                const auto sum = sum_of_row<Type, Kind>(a, b, tile.dimensions);
                keys[q * count + i] =
                    key_of_sum<Key>(metric, sum, square_of(tile, row), square_of(queries, q));
            }
        }
    });
}

}  // namespace

template <class Key>
void reduction_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                    vector_metric metric, std::span<const std::uint32_t> rows, std::span<Key> keys) {
    with_type(tile.type, [&](auto type) {
        with_part<type()>(metric, [&](auto kind) {
            rank_rows<type(), kind(), Key>(place, tile, queries, metric, rows, keys);
        });
    });
}

template void reduction_keys(cpu_place&, const row_tile<cpu_place>&, const row_tile<cpu_place>&,
                             vector_metric, std::span<const std::uint32_t>, std::span<std::uint32_t>);
template void reduction_keys(cpu_place&, const row_tile<cpu_place>&, const row_tile<cpu_place>&,
                             vector_metric, std::span<const std::uint32_t>, std::span<std::uint64_t>);

}  // namespace quern::nearest_detail
