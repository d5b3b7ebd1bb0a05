// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// How the work is split; results do not depend on it. Tests run all variants.
struct strategy {
    static constexpr std::uint32_t largest_window = 4096;
    std::uint32_t window = largest_window;  ///< documents scored together, 1 to largest_window
    bool prune = true;                      ///< skip what cannot reach the best k
};

/// Throws the errors of `search` for a query before it reads lists.
void check_query(const collection_view& collection, const search_query& query,
                 const ranking_options& options);

/// `search` after its checks: arguments are valid, k is at least 1.
std::vector<scored_document> rank_cpu(const collection_view& collection, const search_query& query,
                                      const ranking_options& options, std::size_t k,
                                      const strategy& how = {});

/// `search` for terms of which every result must have those flagged in `required` (one flag per term): the same documents and
/// scores as with their common documents as `allowed`, found while they are ranked. Throws as `search` does, and
/// usage_error for continuations and boosts.
/// Cost: the postings of the shortest required list, each block looked up in the other required lists, less where block bounds
/// allow skipping.
std::vector<scored_document> search_requiring(const collection_view& collection, const search_query& query,
                                              std::span<const std::uint8_t> required,
                                              const ranking_options& options, std::size_t k,
                                              const strategy& how = {});

/// The same for any query, without pruning: for those with continuations or a list.
std::vector<scored_document> rank_unpruned(const collection_view& collection, const search_query& query,
                                           const ranking_options& options, std::size_t k,
                                           const strategy& how);

/// `explain` after its checks.
std::vector<score_parts> parts_of(const collection_view& collection, const search_query& query,
                                  const ranking_options& options, std::uint32_t document);

/// Whether documents, asked for in ascending order, are in an ascending list.
class ascending_set {
  public:
    explicit ascending_set(std::span<const std::uint32_t> documents) : rest_(documents) {}
    bool contains(std::uint32_t document) {
        if (rest_.empty()) return false;
        rest_ = {std::ranges::lower_bound(rest_, document), rest_.end()};
        return !rest_.empty() && rest_.front() == document;
    }

  private:
    std::span<const std::uint32_t> rest_;
};

// The k best of a stream of documents: a buffer of more than k, reduced to k by selection. A candidate costs a few
// nanoseconds for any k; a heap costs log k. Any score may enter, including negative ones.

/// A function object, so that sorting can inline it.
inline constexpr auto ranks_before = [](const scored_document& a, const scored_document& b) {
    return a.fixed_score != b.fixed_score ? a.fixed_score > b.fixed_score : a.document < b.document;
};

class best_documents {
  public:
    static constexpr std::int64_t no_threshold = std::numeric_limits<std::int64_t>::min();

    /// k >= 1
    explicit best_documents(std::size_t k)
        : k_(k), capacity_(k + std::min(std::max<std::size_t>(k, 64), ~k)) {
        kept_.reserve(std::min<std::size_t>(capacity_, 128));
    }

    /// A document must score more than this to enter: the k-th best score so far, or no_threshold.
    std::int64_t threshold() const { return threshold_; }

    /// Documents arrive in ascending order: among equal scores the first one stays.
    void add(std::uint32_t document, std::int64_t score) {
        if (score <= threshold_) return;
        kept_.push_back({document, score});
        if (kept_.size() == capacity_) select();
    }
    /// At least k documents score more than this, of those that will arrive.
    void begin_above(std::int64_t threshold) { threshold_ = threshold; }
    /// Raises the threshold once enough documents have entered to pay for it.
    void settle() {
        if (kept_.size() >= k_ && (threshold_ == no_threshold || kept_.size() - k_ > k_ / 8)) select();
    }
    std::vector<scored_document> take() {
        if (kept_.size() > k_) select();
        std::sort(kept_.begin(), kept_.end(), ranks_before);
        return std::move(kept_);
    }

  private:
    void select() {
        const auto worst = kept_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
        std::nth_element(kept_.begin(), worst, kept_.end(), ranks_before);
        threshold_ = worst->fixed_score;
        kept_.resize(k_);
    }

    std::size_t k_, capacity_;
    std::int64_t threshold_ = no_threshold;
    std::vector<scored_document> kept_;
};

}  // namespace quern::search_detail
