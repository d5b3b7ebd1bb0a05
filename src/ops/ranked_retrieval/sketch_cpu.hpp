// SPDX-License-Identifier: Apache-2.0
// What the CPU keeps of a sketch, and vectors on their way into one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "ops/ranked_retrieval/sketch.hpp"
#include "ops/ranked_retrieval/sketch_kernels.hpp"

namespace quern::ranked_retrieval_detail {

struct row_sketch<cpu_place>::state {
    sketch_kind kind;
    std::uint32_t rows = 0;
    std::size_t padded = 0;     ///< dimensions, to whole fours
    std::vector<float> centre;  ///< µ, to whole code_padding; empty: 0
    cpu_array<std::uint8_t> codes;
    cpu_array<float> terms;

    coded_rows coded() const { return {codes.data(), terms.data(), padded}; }
    std::size_t blocks() const { return (rows + block_rows - 1) / block_rows; }
};

/// Codes vectors one after the other.
class vector_coder {
  public:
    vector_coder(const sketch_kind& kind, const std::vector<float>& centre);
    /// codes(): of the dimensions, and zeros up to whole code_padding.
    coded_sums code(const std::byte* row);
    const std::int8_t* codes() const { return codes_.data(); }

  private:
    sketch_kind kind_;
    const std::vector<float>* centre_;
    std::vector<float> v_;
    std::vector<std::int8_t> codes_;
};

/// Codes and terms of some queries, as the kernels read them.
class query_codes {
  public:
    query_codes(const row_sketch<cpu_place>::state& sketch, const row_tile<cpu_place>& queries,
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

}  // namespace quern::ranked_retrieval_detail
