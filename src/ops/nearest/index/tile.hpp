// SPDX-License-Identifier: Apache-2.0
// A piece of a set of vectors in a place's memory, and the computations of each place over it. The entry point
// (vector_set.cpp) cuts sets into tiles, calls these, and joins the results; ids here are rows of the tile.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "device/array.hpp"
#include "ops/nearest/distance/distance.hpp"

namespace quern::nearest_detail {

/// Rows of one type. CPU: the caller's memory, with any stride. CUDA: stride = row bytes, starting at 256 bytes, or
/// where the caller's rows on that device start.
template <class Place>
struct row_tile {
    vector_type type = vector_type::f32;
    std::uint32_t rows = 0, dimensions = 0;
    std::uint64_t stride = 0;
    span_on<Place, const std::byte> values;
    /// Sums of squares as in distance.hpp, one per row, for cosine; otherwise empty.
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

// ---- Statistics of checked rows ----

inline constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();

struct row_stats {
    std::uint32_t bad_row = no_row;  ///< first with a non-finite component, or bits past the last
    // These are undefined if there is a bad row.
    double greatest = 0;                  ///< of floats, the maximum |a|
    std::uint32_t greatest_row = no_row;  ///< the first that has it, if it is not 0; not for f64
    integer_range range;                  ///< of i16, i8 and u8
};

/// Reads every component once. `squares`: empty, or one per row, set to the sums of squares. CUDA: synchronises.
row_stats stats_of(cpu_place& place, const row_tile<cpu_place>& tile, std::span<double> squares);
row_stats stats_of(cuda_place& place, const row_tile<cuda_place>& tile, device_span<double> squares);
/// Also checks columns: bad_row is then the first row with one out of range or not ascending.
row_stats stats_of(cpu_place& place, const sparse_tile<cpu_place>& tile, std::span<double> squares);
row_stats stats_of(cuda_place& place, const sparse_tile<cuda_place>& tile, device_span<double> squares);

// ---- Exact distances ----

/// keys[q · n + i]: the rank key of query q and row rows[i], n = rows.size(); no rows given: of row i, n = tile.rows. The
/// width of Key is that of has_wide_keys; for integers, uint64 is always valid. Queries: a tile of the same type and
/// dimensions. Any number of queries: as fast as memory for one, and rows are reused for several. CUDA: does not
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

/// The same keys by the paper's method. CUDA: a block of sixteen threads per vector; CPU: one vector after another, the
/// sixteen sums in parallel.
template <class Key>
void reduction_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                    vector_metric metric, std::span<const std::uint32_t> rows, std::span<Key> keys);
template <class Key>
void reduction_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                    vector_metric metric, device_span<const std::uint32_t> rows, device_span<Key> keys);

/// keys[j]: for query pairs[j] >> 32 and row pairs[j] & 0xffffffff, no_key if that is no_row. For the survivors of the
/// filter.
template <class Key>
void distance_keys_of_pairs(cuda_place& place, const row_tile<cuda_place>& tile,
                            const row_tile<cuda_place>& queries, vector_metric metric,
                            device_span<const std::uint64_t> pairs, device_span<Key> keys);

}  // namespace quern::nearest_detail
