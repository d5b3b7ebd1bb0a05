// SPDX-License-Identifier: Apache-2.0
// The lists beside the words': what links say of documents, and how much documents are like one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

/// Every document's cosine with one of them, for scores. The store must outlive it.
class like_list {
  public:
    /// Throws usage_error where the store has no vectors or no such document. Cost: a pass over all vectors; 8 bytes a
    /// document.
    like_list(const opened_store& store, std::uint32_t document, double weight);

    std::uint32_t document() const { return document_; }
    double weight() const { return weight_; }
    /// fixed(weight · cosine) of each document; not_listed for those without a vector, and for all where this one has none.
    std::span<const std::int64_t> parts() const { return parts_; }
    /// Σ a_i b_i / √(Σ a_i² · Σ b_i²) over the whole numbers that the store has; nothing where one has no vector.
    std::optional<double> cosine(std::uint32_t other) const;

  private:
    std::span<const std::int16_t> row(std::uint32_t document) const;

    vectors_view vectors_;
    std::uint32_t document_;
    double weight_;
    std::int64_t square_ = 0;  // of the document's vector
    std::vector<std::int64_t> parts_;
};

}  // namespace quern
