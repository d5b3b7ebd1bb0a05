// SPDX-License-Identifier: Apache-2.0
// A piece of a set of vectors in a place's memory, and what each place computes over it. The door (vector_set.cpp) cuts
// sets into tiles, calls these, and joins what they give; ids here are rows of the tile.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "device/array.hpp"
#include "ops/ranked_retrieval/distance.hpp"

namespace quern::ranked_retrieval_detail {

/// Rows of one type. CPU: the caller's memory, with any stride. CUDA: stride = row bytes, beginning at 256 bytes.
template <class Place>
struct row_tile {
    vector_type type = vector_type::f32;
    std::uint32_t rows = 0, dimensions = 0;
    std::uint64_t stride = 0;
    span_on<Place, const std::byte> values;
    /// Sums of squares as distance.hpp has them, one a row, for cosine; else empty.
    span_on<Place, const double> squares;
};

/// CSR rows, 32-bit float values. offsets[0] need not be 0: entry e of the tile is at columns[e − offsets[0]].
template <class Place>
struct sparse_tile {
    std::uint32_t rows = 0, dimensions = 0;
    span_on<Place, const std::uint64_t> offsets;
    span_on<Place, const std::uint32_t> columns;
    span_on<Place, const float> values;
    span_on<Place, const double> squares;
};

// ---- What is known of rows once they have been looked at ----

inline constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();

struct row_facts {
    std::uint32_t bad_row =
        no_row;  ///< the first with a component that is not finite, or bits beyond the last
    // These say nothing where there is a bad row.
    double greatest = 0;                  ///< of floats, the greatest |a|
    std::uint32_t greatest_row = no_row;  ///< the first that holds it, where it is not 0; not of f64
    integer_range range;                  ///< of i16, i8 and u8
};

/// Looks at every component once. `squares`: empty, or one a row, set to the sums of squares. CUDA: synchronises.
row_facts facts_of(cpu_place& place, const row_tile<cpu_place>& tile, std::span<double> squares);
row_facts facts_of(cuda_place& place, const row_tile<cuda_place>& tile, device_span<double> squares);
/// Columns are looked at too: bad_row is then the first row with one out of range or not rising.
row_facts facts_of(cpu_place& place, const sparse_tile<cpu_place>& tile, std::span<double> squares);
row_facts facts_of(cuda_place& place, const sparse_tile<cuda_place>& tile, device_span<double> squares);

// ---- Exact distances ----

/// keys[q · n + i]: the rank key of query q and row rows[i], n = rows.size(); no rows given: of row i, n = tile.rows.
/// Key is as wide as has_wide_keys says; of integers, uint64 is always right. Queries: a tile of the same type and dimensions.
/// Any number of queries; written to be as fast as memory for one, and to reuse rows for several. CUDA: does not
/// synchronise.
template <class Key>
void distance_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                   vector_metric metric, std::span<const std::uint32_t> rows, std::span<Key> keys);
template <class Key>
void distance_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                   vector_metric metric, device_span<const std::uint32_t> rows, device_span<Key> keys);
template <class Key>  // uint32
void distance_keys(cpu_place& place, const sparse_tile<cpu_place>& tile,
                   const sparse_tile<cpu_place>& queries, vector_metric metric,
                   std::span<const std::uint32_t> rows, std::span<Key> keys);
template <class Key>
void distance_keys(cuda_place& place, const sparse_tile<cuda_place>& tile,
                   const sparse_tile<cuda_place>& queries, vector_metric metric,
                   device_span<const std::uint32_t> rows, device_span<Key> keys);

/// The same keys by the paper's method: CUDA: a block of sixteen threads a vector; CPU: one vector after the other, the
/// sixteen sums side by side.
template <class Key>
void reduction_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                    vector_metric metric, std::span<const std::uint32_t> rows, std::span<Key> keys);
template <class Key>
void reduction_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                    vector_metric metric, device_span<const std::uint32_t> rows, device_span<Key> keys);

/// keys[j]: of query pairs[j] >> 32 and row pairs[j] & 0xffffffff, no_key where that is no_row. For the survivors of the
/// filter.
template <class Key>
void distance_keys_of_pairs(cuda_place& place, const row_tile<cuda_place>& tile,
                            const row_tile<cuda_place>& queries, vector_metric metric,
                            device_span<const std::uint64_t> pairs, device_span<Key> keys);

}  // namespace quern::ranked_retrieval_detail
