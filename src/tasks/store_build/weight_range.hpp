// SPDX-License-Identifier: Apache-2.0
// The weights of a collection, and the unit in which its posting lists have them as integers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace quern {

/// The largest weight, and the lowest bit that any of them has.
class weight_range {
  public:
    /// `weight` is positive and finite.
    void add(float weight) {
        max_ = std::max(max_, weight);
        int exponent = 0;
        const auto digits = static_cast<std::uint32_t>(std::ldexp(std::frexp(weight, &exponent), precision));
        lowest_ = std::min(lowest_, exponent - precision + std::countr_zero(digits));
    }
    void add(const weight_range& other) {
        max_ = std::max(max_, other.max_);
        lowest_ = std::min(lowest_, other.lowest_);
    }
    float max() const { return max_; }
    /// The largest power of two of which all weights are multiples; but such that the largest is below 2^24 of them,
    /// so that weights are then rounded to the precision that the largest has as a float.
    int unit_exponent() const {
        if (max_ == 0) return 0;
        int exponent = 0;
        std::frexp(max_, &exponent);
        return std::max(lowest_, exponent - precision);
    }

  private:
    static constexpr int precision = std::numeric_limits<float>::digits;
    float max_ = 0;
    int lowest_ = std::numeric_limits<int>::max();
};

}  // namespace quern
