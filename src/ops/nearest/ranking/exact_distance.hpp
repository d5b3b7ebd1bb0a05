// SPDX-License-Identifier: Apache-2.0
// The distance of two vectors as an exact real number: for pairs that double arithmetic cannot distinguish, and for
// reported digits that it cannot determine. About a hundred times slower.
#pragma once

#include <memory>
#include <span>

#include "quern/ops/nearest.hpp"

namespace quern::nearest_detail {

/// A distance without rounding. Only comparable with those of the same metric and query. Move-only.
class exact_distance {
  public:
    /// The components: those of f16, bf16 and f32 as doubles, with `doubles` false; those of f64 with true. Not hamming.
    exact_distance(vector_metric metric, bool doubles, std::span<const double> row,
                   std::span<const double> query);
    ~exact_distance();
    exact_distance(exact_distance&&) noexcept;
    exact_distance& operator=(exact_distance&&) noexcept;

    /// Whether this one is nearer: by the sum, for ip by the greater one, for cosine by the angle.
    bool operator<(const exact_distance& other) const;
    /// The number, rounded as by rounded_to(): for l2 the sum of squares, for ip the sum itself.
    double rounded(unsigned bits) const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern::nearest_detail
