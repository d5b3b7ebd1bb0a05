// SPDX-License-Identifier: Apache-2.0
// Method `exhaustive`: the bounded edit distance of every pair that the lengths allow. It serves only as ground truth for
// the recall of other methods.
#pragma once

#include <algorithm>

#include "device/progress_meter.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/exact/verify.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"

namespace quern::near_duplicates_detail {

template <class Place, class Unit>
std::vector<duplicate_pair> find_exhaustively(Place& place, const unit_list<Unit>& texts,
                                              const duplicate_options& options, const duplicate_scope& scope,
                                              duplicate_counts& counts) {
    constexpr std::size_t at_once = std::size_t{1} << 20;
    std::vector<candidate> waiting;
    std::vector<duplicate_pair> pairs;
    const auto flush = [&] {
        counts.candidates += waiting.size();
        const auto found =
            verify(place, texts, options.threshold, std::span<const candidate>(waiting), counts);
        pairs.insert(pairs.end(), found.begin(), found.end());
        waiting.clear();
    };
    progress_meter meter(place.ctx(), "compare", pairs_in_scope(texts.size(), scope), "pairs");
    for (std::uint32_t a = 0; a < texts.size(); ++a) {
        const std::uint32_t last = scope.within_new || a < scope.first_new ? texts.size() : a;
        for (std::uint32_t b = std::max(a + 1, scope.first_new); b < last; ++b) {
            const std::uint32_t x = texts.length(a), y = texts.length(b);
            if (!lengths_allow(options.threshold, std::min(x, y), std::max(x, y))) continue;
            ++counts.compared;
            waiting.push_back({a, b});
            if (waiting.size() == at_once) flush();
        }
        const std::uint32_t first = std::max(a + 1, scope.first_new);
        meter.add(first < last ? last - first : 0);
    }
    flush();
    return pairs;
}

}  // namespace quern::near_duplicates_detail
