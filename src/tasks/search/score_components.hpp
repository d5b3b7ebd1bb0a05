// SPDX-License-Identifier: Apache-2.0
// What a store has for score components besides the words: link ranks of documents, and their vectors
// (ops/search/document_similarity.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

/// The documents' vectors, for similarity. Throws usage_error if the store has none.
vectors_view vectors_for_similarity(const opened_store& store);

}  // namespace quern
