// SPDX-License-Identifier: Apache-2.0
// The filter before exact distances: vectors in 8-bit integers, whose products are exact on every integer unit, with a
// bound of the coding error. For sql2, l2, ip and cosine of every type except bits and f64.
//
// Every row x has a vector x' (sql2, l2: x − µ, µ any one vector for set and queries; ip: x; cosine: x / |x|), codes c in
// [−127, 127], a scale s and a bound ρ ≥ |x' − s·c|. Let y', e, t, σ be those of a query. Then by Cauchy and Schwarz
//     | x'·y' − s·t·(c·e) |  ≤  ρ·|y'| + |s·c|·σ,
// and the number that defines the true order (greatest first) is at most
//     U = a + s·t·(c·e) + ρ·|y'| + |s·c|·σ,      a = −|x'|²/2 for sql2 and l2 (|x' − y'|² = |y'|² − 2(x'·y' + a)), else 0.
// The query's limit accounts for the k-th best exact distance so far and the rounding of exact (f32) distances. A row whose
// U is below it is not among the k best. All others get an exact distance. U is computed in f32; the terms are inflated
// for that when they are made. docs/nearest_neighbours_filter.md has the proof with all roundings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ops/nearest/index/tile.hpp"

namespace quern::nearest_detail {

/// Whether there is a filter for vectors of the type.
constexpr bool can_quantize(vector_type type) {
    return type != vector_type::bits && type != vector_type::f64;
}

/// Whether there is a filter for such vectors.
constexpr bool can_quantize(vector_type type, vector_metric metric, std::uint32_t dimensions) {
    const bool product = metric == vector_metric::sql2 || metric == vector_metric::l2 ||
                         metric == vector_metric::ip || metric == vector_metric::cosine;
    return product && can_quantize(type) && dimensions <= 65'536;  // 127² · 2^16 < 2^31
}

/// The quantized form of a tile in the place's memory. Move-only. Takes about a byte per component and 16 per row.
template <class Place>
class quantized_rows;

template <>
class quantized_rows<cpu_place> {
  public:
    quantized_rows(cpu_place& place, const row_tile<cpu_place>& tile, vector_metric metric);
    ~quantized_rows();
    quantized_rows(quantized_rows&&) noexcept;
    quantized_rows& operator=(quantized_rows&&) noexcept;
    struct state;
    const state& get() const { return *state_; }

  private:
    std::unique_ptr<state> state_;
};
template <>
class quantized_rows<cuda_place> {
  public:
    quantized_rows(cuda_place& place, const row_tile<cuda_place>& tile, vector_metric metric);
    ~quantized_rows();
    quantized_rows(quantized_rows&&) noexcept;
    quantized_rows& operator=(quantized_rows&&) noexcept;
    struct state;
    const state& get() const { return *state_; }

  private:
    std::unique_ptr<state> state_;
};

struct filter_counts {
    std::uint64_t filtered = 0;   ///< pairs whose U was computed
    std::uint64_t confirmed = 0;  ///< pairs whose distance was computed
};

/// The k best rows of the tile for every query, keys ascending, then rows: keys[q · k + j], ids[q · k + j]; k ≤ the number
/// of allowed rows. `allowed`: one bit per row of the tile, as in retrieval_options; empty: all. Exact for any data: if the
/// filter passes too many rows, distances of all rows are computed. CUDA: synchronises.
template <class Key>
filter_counts quantized_top_k(cpu_place& place, const row_tile<cpu_place>& tile,
                              const quantized_rows<cpu_place>& quantized, const row_tile<cpu_place>& queries,
                              vector_metric metric, std::uint32_t k, std::span<const std::uint64_t> allowed,
                              std::span<Key> keys, std::span<std::uint32_t> ids);
template <class Key>
filter_counts quantized_top_k(cuda_place& place, const row_tile<cuda_place>& tile,
                              const quantized_rows<cuda_place>& quantized,
                              const row_tile<cuda_place>& queries, vector_metric metric, std::uint32_t k,
                              device_span<const std::uint64_t> allowed, device_span<Key> keys,
                              device_span<std::uint32_t> ids);

}  // namespace quern::nearest_detail
