// SPDX-License-Identifier: Apache-2.0
// The CPU's form of a quantized form, and the coding of vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "ops/nearest/quantized/quantized.hpp"
#include "ops/nearest/quantized/quantized_kernels.hpp"

namespace quern::nearest_detail {

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
    coded_sums code(const std::byte* row);
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
    query_codes(const quantized_rows<cpu_place>::state& quantized, const row_tile<cpu_place>& queries,
                product_method method);

    coded_queries coded() const { return coded(0, terms_.size()); }
    coded_queries coded(std::size_t first, std::size_t count) const;
    const query_terms& terms(std::size_t q) const { return terms_[q]; }
    product_method method() const { return method_; }

  private:
    product_method method_;
    std::size_t padded_;
    std::vector<std::int8_t> codes_;
    std::vector<std::int16_t> wide_codes_;  ///< for products in pairs
    std::vector<std::int32_t> starts_;
    std::vector<float> scales_, rests_, sizes_;
    std::vector<query_terms> terms_;
};

}  // namespace quern::nearest_detail
