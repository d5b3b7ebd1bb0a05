// SPDX-License-Identifier: Apache-2.0
// The prior of a query's documents, or none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/search/score_kernels.hpp"
#include "ops/search/scoring.hpp"

namespace quern::search_detail {

inline constexpr std::uint64_t documents_of_max_ranks = 4096;

class prior_scorer {
  public:
    explicit prior_scorer(const std::optional<document_prior>& prior)
        : prior_(prior && prior->weight != 0 ? prior : std::nullopt) {
        if (!prior_ || !prior_->max.empty()) return;
        made_ = max_ranks(prior_->ranks);
        prior_->max = made_;
    }
    prior_scorer(const prior_scorer&) = delete;  // `max` may point into itself
    prior_scorer& operator=(const prior_scorer&) = delete;

    /// An upper bound of the prior of a document in [begin, end), which is not empty.
    std::int64_t max(std::uint64_t begin, std::uint64_t end) const {
        if (!prior_) return 0;
        const auto first = prior_->max.begin() + static_cast<std::ptrdiff_t>(begin / documents_of_max_ranks);
        const auto last =
            prior_->max.begin() + static_cast<std::ptrdiff_t>((end - 1) / documents_of_max_ranks) + 1;
        return prior_of_rank(*std::max_element(first, last), *prior_) + 1;
    }

    void add(std::span<const std::uint32_t> documents, std::int64_t* scores) const {
        if (!prior_) return;
        constexpr std::size_t at_once = 128;
        alignas(64) std::array<std::uint64_t, at_once + kernel_padding> ranks{};
        alignas(64) std::array<std::int64_t, at_once + kernel_padding> parts{};
        for (; !documents.empty(); documents = documents.subspan(std::min(at_once, documents.size()))) {
            const std::size_t size = std::min(at_once, documents.size());
            for (std::size_t i = 0; i < size; ++i) ranks[i] = prior_->ranks[documents[i]];
            prior_parts(ranks.data(), size, prior_->unit, prior_->weight, parts.data());
            for (std::size_t i = 0; i < size; ++i) *scores++ += parts[i];
        }
    }

  private:
    std::optional<document_prior> prior_;
    std::vector<std::uint64_t> made_;
};

}  // namespace quern::search_detail
