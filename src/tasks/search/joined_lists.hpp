// SPDX-License-Identifier: Apache-2.0
// The lists beside the words': what links say of documents, and how much documents are like one of them.
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

/// A store's link ranks, made ready for many queries. The store must outlive it.
class prior_ranks {
  public:
    /// Throws usage_error where the store has none.
    explicit prior_ranks(const opened_store& store);
    /// Looks into this object and the store.
    document_prior weighing(double weight) const { return {ranks_, unit_, weight, most_}; }
    /// N · rank.
    double over_average(std::uint32_t document) const;

  private:
    std::span<const std::uint64_t> ranks_;
    std::vector<std::uint64_t> most_;
    double unit_;
};

/// Σ a_i² of each document's vector, made ready for many lists; 0 for one without.
class vector_squares {
  public:
    /// Throws usage_error where the store has no vectors, `interrupted` where the run's stop flag is raised. Cost: a pass
    /// over all vectors; 8 bytes a document.
    vector_squares(const opened_store& store, const context& run);
    std::int64_t operator[](std::uint32_t document) const { return squares_[document]; }

  private:
    std::vector<std::int64_t> squares_;
};

/// Every document's cosine with one of them, for scores. The store and the squares, which are its own, must outlive it.
class like_list {
  public:
    /// Throws as vector_squares, and usage_error where there is no such document. Cost: a pass over all vectors; 8 bytes a
    /// document.
    like_list(const opened_store& store, const vector_squares& squares, std::uint32_t document, double weight,
              const context& run);

    std::uint32_t document() const { return document_; }
    double weight() const { return weight_; }
    /// fixed(weight · cosine) of each document; not_listed for those without a vector, and for all where this one has none.
    std::span<const std::int64_t> parts() const { return parts_; }
    /// Σ a_i b_i / √(Σ a_i² · Σ b_i²) over the whole numbers that the store has; nothing where one has no vector.
    std::optional<double> cosine(std::uint32_t other) const;

  private:
    vectors_view vectors_;
    const vector_squares& squares_;
    std::uint32_t document_;
    double weight_;
    std::vector<std::int64_t> parts_;
};

}  // namespace quern
