// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/index/row_source.hpp"

namespace quern::nearest_detail {

void gather_rows(cpu_place& place, std::span<const std::byte> from, std::uint64_t row_bytes,
                 std::span<const std::uint32_t> rows, std::uint64_t stride, std::span<std::byte> to) {
    const std::size_t pieces = pieces_for(place, rows.size() * row_bytes, 1 << 20);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(rows.size(), pieces, p);
        for (std::size_t i = begin; i < end; ++i)
            std::memcpy(to.data() + i * stride, from.data() + rows[i] * row_bytes, row_bytes);
    });
}

}  // namespace quern::nearest_detail
