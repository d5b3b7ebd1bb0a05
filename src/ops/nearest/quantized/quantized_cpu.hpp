// SPDX-License-Identifier: Apache-2.0
// The CPU's form of a quantized form, and the coding of vectors.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "ops/nearest/quantized/quantized.hpp"
#include "ops/nearest/quantized/quantized_bounds.hpp"

namespace quern::nearest_detail {

// The inner loops of the filter (quantized.hpp) on the CPU: coding of vectors, and the bounds U of blocks of rows.
//
// Rows are in blocks of 64, the codes of four components of all 64 contiguous, as the processor's instruction for sums of
// four products (vpdpbusd) reads them. It takes one side unsigned: row codes are stored plus 128, and each sum starts with
// the correction. A block (8 KiB at 128 dimensions) stays in the first-level cache for all queries.

inline constexpr std::size_t block_rows = 64;
inline constexpr std::size_t block_terms = 4 * block_rows;  ///< a, scale, rest, size, of all rows each

/// Block b: codes[b · 64 · padded + j · 64 + 4 · row + i] is component j + i of a row, plus 128, j a multiple of four;
/// terms[b · 256 …].
struct coded_rows {
    const std::uint8_t* codes = nullptr;
    const float* terms = nullptr;
    std::size_t padded = 0;  ///< dimensions, rounded up to fours; padding has the code 0 (stored: 128)
};

/// In `wide_codes`: of every four components, the first and third come before the second and fourth.
constexpr std::size_t wide_place(std::size_t j) {
    constexpr std::size_t places[] = {0, 2, 1, 3};
    return j / 4 * 4 + places[j % 4];
}

/// codes[q · padded + j]; the same in 16 bits, at wide_place(j), for processors without the instruction.
struct coded_queries {
    const std::int8_t* codes = nullptr;
    const std::int16_t* wide_codes = nullptr;
    const std::int32_t* starts = nullptr;  ///< −128 · the sum of the codes
    const float* scales = nullptr;
    const float* rests = nullptr;
    const float* sizes = nullptr;
    std::size_t count = 0;
};

/// fours: vpdpbusd. pairs: products of 16 bits, two at a time. The numbers are the same.
/// short_sums: products of 8 bits (vpmaddubsw), added in 16; for queries whose codes cannot overflow these
/// (largest_short_sum).
enum class product_method { fours, short_sums, pairs };
product_method best_product_method();

/// The codes of a query are multiplied by at most 255 and added in fours: components j, j + 1, j + 4, j + 5, for j = 0, 2,
/// 8, 10, … The maximum, over these fours, of the sum of the positive codes and of that of the negative ones' sizes.
/// Products fit into 16 bits up to max_short_sum.
inline constexpr std::int32_t max_short_sum = 128;
std::int32_t largest_short_sum(const std::int8_t* codes, std::size_t padded);

/// masks[q · blocks + b]: bit r is set if row r of block first + b is a candidate of query q for limits[q].
void mark_candidates(const coded_rows& rows, std::size_t first, std::size_t blocks,
                     const coded_queries& queries, const float* limits, std::uint64_t* masks,
                     product_method method);

/// bounds[q · 64 + r]: U of row r of the block and query q.
void bound_block(const coded_rows& rows, std::size_t block, const coded_queries& queries, float* bounds,
                 product_method method);

/// best[q · pitch + lane], for a block: the maximum U of the rows lane, lane + 16, lane + 32 and lane + 48 that are set in
/// `present`, −∞ if none is. Its last two bits are not part of U: they are the index of the row among the four.
inline constexpr std::size_t best_lanes = 16;
void find_best(const coded_rows& rows, std::size_t block, const coded_queries& queries, std::uint64_t present,
               float* best, std::size_t pitch, product_method method);
constexpr std::size_t row_of_best(float best, std::size_t lane) {
    return (std::bit_cast<std::uint32_t>(best) & 3u) * best_lanes + lane;
}

/// Floats of 16 bits, exactly.
void widen_halves(const std::uint16_t* halves, std::size_t size, float* to);

struct vector_code {
    double squares = 0;       ///< Σ v²
    double rest_squares = 0;  ///< Σ (v − s·c)²
    std::uint64_t codes = 0;  ///< Σ c²
    float scale = 0;          ///< s
};

inline constexpr std::size_t code_padding = 16;
/// Codes `size` components, a multiple of code_padding; those past the last are 0. `coarser`: at least 1, a factor for the
/// scale that the largest component needs.
vector_code code_vector(const float* v, std::size_t size, std::int8_t* codes, float coarser);

struct quantized_rows<cpu_place>::state {
    quantized_kind kind;
    std::uint32_t rows = 0;
    std::size_t padded = 0;     ///< dimensions, rounded up to a multiple of four
    std::vector<float> centre;  ///< µ, padded to code_padding; empty: 0
    cpu_array<std::uint8_t> codes;
    cpu_array<float> terms;

    coded_rows coded() const { return {codes.data(), terms.data(), padded}; }
    std::size_t blocks() const { return (rows + block_rows - 1) / block_rows; }
};

/// Codes vectors one after another.
class vector_coder {
  public:
    vector_coder(const quantized_kind& kind, const std::vector<float>& centre);
    /// codes(): of the dimensions, padded with zeros to code_padding.
    coded_sums code(const std::byte* row, float coarser = 1);
    const std::int8_t* codes() const { return codes_.data(); }

  private:
    quantized_kind kind_;
    const std::vector<float>* centre_;
    std::vector<float> v_;
    std::vector<std::int8_t> codes_;
};

/// Codes and terms of some queries, in the kernels' layout.
class query_codes {
  public:
    /// Codes that overflow in short sums are coded more coarsely; if codes without error do, the method is pairs instead.
    query_codes(const quantized_rows<cpu_place>::state& quantized, const row_tile<cpu_place>& queries,
                product_method method);

    coded_queries coded() const { return coded(0, terms_.size()); }
    coded_queries coded(std::size_t first, std::size_t count) const;
    const query_terms& terms(std::size_t q) const { return terms_[q]; }
    product_method method() const { return method_; }

  private:
    void code_all(vector_coder& coder, const quantized_kind& kind, const row_tile<cpu_place>& queries);

    product_method method_;
    std::size_t padded_;
    std::vector<std::int8_t> codes_;
    std::vector<std::int16_t> wide_codes_;  ///< for products in pairs
    std::vector<std::int32_t> starts_;
    std::vector<float> scales_, rests_, sizes_;
    std::vector<query_terms> terms_;
};

}  // namespace quern::nearest_detail
