// SPDX-License-Identifier: Apache-2.0
// Hybrid search: the ranking by words and the ranking by vectors of documents that the user brings, fused.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/vectors.hpp"
#include "quern/ops/nearest.hpp"
#include "quern/ops/search.hpp"
#include "quern/tasks/search.hpp"

namespace quern {

/// Documents, best first, all different, with falling scores.
struct scored_list {
    std::vector<std::uint32_t> documents;
    std::vector<double> scores;
};

/// The vectors of a store's documents, ready for queries. Thread-safe; queries run one at a time.
class hybrid_vectors {
  public:
    /// Rows of f32, which must outlive it.
    explicit hybrid_vectors(const vectors_view& rows) : rows_(rows) {}
    std::uint32_t dimensions() const { return rows_.dimensions; }

    /// For each of some query vectors, one after the other, the nearest documents, at most `depth`, of those allowed (as
    /// retrieval_options::allowed). Scores: the cosine, the inner product, or the distance below 0. Throws as vector_set.
    std::vector<scored_list> nearest(std::span<const float> vectors, quern::vector_metric metric,
                                     std::uint64_t depth, std::span<const std::uint64_t> allowed,
                                     const context& ctx) const;

  private:
    const vectors_view rows_;
    mutable std::mutex one_at_a_time_;
    mutable std::map<quern::vector_metric, std::unique_ptr<vector_set>> sets_;
};

/// How many documents of each ranking are fused.
inline std::size_t hybrid_depth(const search_options& options) {
    return std::max(options.fusion_depth, options.k);
}

/// Both lists as one, by the rule of the options; ties by document. Throws as fuse.
scored_list fused(const scored_list& by_words, const scored_list& by_vectors, std::uint32_t documents,
                  const search_options& options);

}  // namespace quern
