// SPDX-License-Identifier: Apache-2.0
// Method `exhaustive`: the bounded edit distance of every pair that the lengths allow. The truth that the recall of
// other methods is measured against, and nothing else.
#pragma once

#include <algorithm>

#include "ops/near_duplicates/methods.hpp"
#include "ops/near_duplicates/pair_bounds.hpp"
#include "ops/near_duplicates/verify.hpp"

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
    for (std::uint32_t a = 0; a < texts.size(); ++a) {
        place.run().check_stop();
        const std::uint32_t last = scope.within_new || a < scope.first_new ? texts.size() : a;
        for (std::uint32_t b = std::max(a + 1, scope.first_new); b < last; ++b) {
            const std::uint32_t x = texts.length(a), y = texts.length(b);
            if (!lengths_allow(options.threshold, std::min(x, y), std::max(x, y))) continue;
            ++counts.compared;
            waiting.push_back({a, b});
            if (waiting.size() == at_once) flush();
        }
    }
    flush();
    return pairs;
}

}  // namespace quern::near_duplicates_detail
