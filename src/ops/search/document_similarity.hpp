// SPDX-License-Identifier: Apache-2.0
// The similarity of documents to a given one, by their vectors, as a part of scores: sums of integers, with the same bits
// everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/vectors.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// Σ a_i² of each document's vector, prepared for many lists; 0 for one without.
class vector_squares {
  public:
    /// Of rows of i16. Throws `interrupted` if the stop flag is raised. Cost: a pass over all vectors; 8 bytes a document.
    vector_squares(const vectors_view& vectors, const context& ctx);
    std::int64_t operator[](std::uint32_t document) const { return squares_[document]; }

  private:
    std::vector<std::int64_t> squares_;
};

/// Every document's cosine with a given one, for scores. The vectors and their squares must outlive it.
class similarity_list {
  public:
    /// Throws as vector_squares, and usage_error if the document does not exist. Cost: a pass over all vectors; 8 bytes
    /// a document.
    similarity_list(const vectors_view& vectors, const vector_squares& squares, std::uint32_t document,
                    double weight, const context& ctx);

    std::uint32_t document() const { return document_; }
    double weight() const { return weight_; }
    /// fixed(weight · cosine) of each document; no_boost for those without a vector, and for all if this one has
    /// none.
    std::span<const std::int64_t> parts() const { return parts_; }
    /// Σ a_i b_i / √(Σ a_i² · Σ b_i²) over the vectors' integers; nothing if one has no vector.
    std::optional<double> cosine(std::uint32_t other) const;

  private:
    vectors_view vectors_;
    const vector_squares& squares_;
    std::uint32_t document_;
    double weight_;
    std::vector<std::int64_t> parts_;
};

}  // namespace quern::search_detail
