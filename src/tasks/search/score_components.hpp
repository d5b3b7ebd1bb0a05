// SPDX-License-Identifier: Apache-2.0
// Score components besides the words: link ranks of documents, and their similarity to a given document.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/vectors.hpp"
#include "quern/ops/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// A store's link ranks, prepared for many queries. The store must outlive it.
class prior_ranks {
  public:
    /// Throws usage_error if the store has none.
    explicit prior_ranks(const opened_store& store);
    /// Points into this object and the store.
    document_prior with_weight(double weight) const { return {ranks_, unit_, weight, max_}; }
    /// N · rank.
    double over_average(std::uint32_t document) const;

  private:
    std::span<const std::uint64_t> ranks_;
    std::vector<std::uint64_t> max_;
    double unit_;
};

/// Σ a_i² of each document's vector, prepared for many lists; 0 for one without.
class vector_squares {
  public:
    /// Throws usage_error if the store has no vectors, `interrupted` if the stop flag is raised. Cost: a pass over all
    /// vectors; 8 bytes a document.
    vector_squares(const opened_store& store, const context& ctx);
    std::int64_t operator[](std::uint32_t document) const { return squares_[document]; }

  private:
    std::vector<std::int64_t> squares_;
};

/// Every document's cosine with a given one, for scores. The store and its squares must outlive it.
class similarity_list {
  public:
    /// Throws as vector_squares, and usage_error if the document does not exist. Cost: a pass over all vectors; 8 bytes
    /// a document.
    similarity_list(const opened_store& store, const vector_squares& squares, std::uint32_t document,
                    double weight, const context& ctx);

    std::uint32_t document() const { return document_; }
    double weight() const { return weight_; }
    /// fixed(weight · cosine) of each document; no_boost for those without a vector, and for all if this one has
    /// none.
    std::span<const std::int64_t> parts() const { return parts_; }
    /// Σ a_i b_i / √(Σ a_i² · Σ b_i²) over the store's integers; nothing if one has no vector.
    std::optional<double> cosine(std::uint32_t other) const;

  private:
    vectors_view vectors_;
    const vector_squares& squares_;
    std::uint32_t document_;
    double weight_;
    std::vector<std::int64_t> parts_;
};

}  // namespace quern
