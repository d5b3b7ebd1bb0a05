// SPDX-License-Identifier: Apache-2.0
// The layout of the quantized form in a GPU's memory, and the steps of the filter there.
//
// Codes have the layout of the tensor cores (mma.m16n8k32): a block of sixteen vectors by 32 components is 512 bytes,
// sixteen for each thread of a warp. A thread has, for the vectors g and g + 8, g = thread / 4, the components 4(thread %
// 4) … + 3 and these + 16. For queries in the order of matrix A, both vectors' first components come before their last; for
// rows, as two matrices B, vector by vector. So one load of sixteen bytes, without bank conflicts, gives a thread its
// operands.
//
// Vectors are kept in tiles, 32 components of a whole tile after another: the next data of a block is one range of memory,
// which the copy engine transfers by one command.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "device/array.hpp"
#include "ops/nearest/distance/components.cuh"
#include "ops/nearest/quantized/quantized.hpp"
#include "ops/nearest/quantized/quantized_bounds.hpp"

namespace quern::nearest_detail {

inline constexpr unsigned block_rows = 16;       // of codes in one block
inline constexpr unsigned step_components = 32;  // per tensor core operation
inline constexpr unsigned quantized_tile_rows = 128;
inline constexpr unsigned block_vectors = block_rows * step_components / sizeof(uint4);

constexpr std::uint32_t steps_of(std::uint32_t dimensions) {
    return (dimensions + step_components - 1) / step_components;
}
constexpr std::uint64_t tiles_of(std::uint32_t rows, unsigned tile_rows) {
    return (std::uint64_t{rows} + tile_rows - 1) / tile_rows;
}
/// In units of sixteen bytes.
constexpr std::uint64_t code_size(std::uint32_t rows, std::uint32_t steps, unsigned tile_rows) {
    return tiles_of(rows, tile_rows) * steps * (tile_rows / block_rows) * block_vectors;
}

/// Terms of rows past the last are 0.
struct quantized_rows<cuda_place>::state {
    quantized_kind kind;
    std::uint32_t rows = 0, steps = 0;
    cuda_array<float> centre;  ///< µ, 0 past the last component; empty unless sql2 or l2
    cuda_array<uint4> codes;
    cuda_array<row_terms> terms;
};

/// Codes rows into tiles of `tile_rows`; one of `rows` and `queries` has as many terms as there are rows in whole tiles.
void code_rows(cuda_place& place, const row_tile<cuda_place>& tile, const quantized_kind& kind,
               device_span<const float> centre, unsigned tile_rows, device_span<uint4> codes,
               device_span<row_terms> rows, device_span<query_terms> queries);

// ---- The filter ----

/// The tiles of one round: every stride-th, except those of earlier rounds: every (growth · stride)-th.
struct tile_round {
    static constexpr std::uint32_t growth = 8;
    std::uint32_t stride = 1;
    bool first = true;
    std::uint32_t tiles = 0;  ///< of this round

    constexpr std::uint32_t tile(std::uint32_t i) const {
        return stride * (first ? i : i + i / (growth - 1) + 1);
    }
};

/// The filter's terms of a query: query_terms, whose scale has 16 significant bits here. Limit +∞: wants nothing.
struct filter_terms {
    float scale, rest, size, limit;
};
constexpr filter_terms filter_terms_of(const query_terms& query, float limit) {
    const float scale = std::bit_cast<float>(std::bit_cast<std::uint32_t>(query.scale) & ~0xffu);
    // Less than 2^-15 of scale · |e| is lost, which is at most |y'| + σ.
    const double lost = scale == query.scale ? 0 : 0x1p-14 * (double{query.size} + double{query.rest});
    return {scale, rounded_up(double{query.rest} + lost), query.size, limit};
}

struct filter_work {
    const uint4* row_codes = nullptr;
    const row_terms* rows = nullptr;
    std::uint32_t row_count = 0, steps = 0;
    const uint4* query_codes = nullptr;  ///< in tiles of filter_queries(query_count) rows
    const filter_terms* queries = nullptr;
    std::uint32_t query_count = 0;
    const std::uint64_t* allowed = nullptr;  ///< null: all
    tile_round round;
    std::uint32_t* counts = nullptr;  ///< per query: candidates, including those that did not fit
    std::uint32_t* found = nullptr;   ///< found[q · room …]: rows, unordered
    std::uint32_t capacity = 0;
};

/// Rows in a tile of so many queries' codes.
unsigned filter_queries(std::uint32_t query_count);

/// Appends candidates. Counts continue from their current values.
void find_candidates(cuda_place& place, const filter_work& work);

/// Reads four neighbouring components at once, if rows are aligned for it.
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
