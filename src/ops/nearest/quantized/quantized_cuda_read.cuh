// SPDX-License-Identifier: Apache-2.0
// Reads four neighbouring components at once, if rows are aligned for it.
#pragma once

#include "ops/nearest/distance/components.cuh"

namespace quern::nearest_detail {

template <vector_type Type>
struct alignas(4 * sizeof(stored_t<Type>)) stored_group {
    static constexpr unsigned size = 4;
    stored_t<Type> at[size];
};

/// Whether every group of a tile's rows may be read at once.
inline bool groups_aligned(const row_tile<cuda_place>& tile) {
    const std::uint64_t bytes = tile.type == vector_type::bits ? 4 : bytes_of_row(tile.type, 4);
    return (reinterpret_cast<std::uintptr_t>(tile.values.data()) | tile.stride) % bytes == 0;
}

/// Components first … first + 3 of `count`; 0 past the last.
template <vector_type Type>
__device__ stored_group<Type> read_group(const stored_t<Type>* row, std::uint32_t first, std::uint32_t count,
                                         bool aligned) {
    if (aligned && first + stored_group<Type>::size <= count)
        return *reinterpret_cast<const stored_group<Type>*>(row + first);
    stored_group<Type> group;
    for (unsigned c = 0; c < stored_group<Type>::size; ++c)
        group.at[c] = first + c < count ? row[first + c] : stored_t<Type>(0);
    return group;
}

}  // namespace quern::nearest_detail
