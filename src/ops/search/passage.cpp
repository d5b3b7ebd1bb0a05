// SPDX-License-Identifier: Apache-2.0
#include "ops/search/passage.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <vector>

#include "base/canonical_math.hpp"

namespace quern::search_detail {
namespace {

/// The distinct terms among neighbouring matches.
class held_terms {
  public:
    explicit held_terms(std::span<const std::uint32_t> weights)
        : weights_(weights), counts_(weights.size()) {}
    void add(std::uint32_t term) {
        all_ += weights_[term];
        if (counts_[term]++ == 0) different_ += weights_[term];
    }
    void remove(std::uint32_t term) {
        all_ -= weights_[term];
        if (--counts_[term] == 0) different_ -= weights_[term];
    }
    bool repeats(std::uint32_t term) const { return counts_[term] > 1; }
    std::uint64_t different() const { return different_; }  ///< their weight
    std::uint64_t all() const { return all_; }              ///< that of all matches

  private:
    std::span<const std::uint32_t> weights_;
    std::vector<std::uint32_t> counts_;
    std::uint64_t different_ = 0, all_ = 0;
};

/// The criteria for comparing passages, in this order.
struct merit {
    std::uint64_t different = 0;
    int near = 0;  ///< larger is nearer
    std::uint64_t all = 0;
    auto operator<=>(const merit&) const = default;
};

}  // namespace

match_range best_match_range(std::span<const passage_match> matches, std::span<const std::uint32_t> weights,
                             std::size_t max_bytes) {
    held_terms longest(weights), shortest(weights);
    merit best_merit;
    match_range best;
    for (std::size_t last = 0, first = 0, near = 0; last < matches.size(); ++last) {
        longest.add(matches[last].what);
        shortest.add(matches[last].what);
        while (first < last && matches[last].end - matches[first].begin > max_bytes)
            longest.remove(matches[first++].what);
        while (near < first || shortest.repeats(matches[near].what)) shortest.remove(matches[near++].what);
        // A phrase before it may extend past the last match.
        const std::uint32_t begin = std::min(matches[near].end, matches[last].begin);
        const merit of = {longest.different(),
                          -static_cast<int>(std::bit_width((matches[last].begin - begin) / 16)),
                          longest.all()};
        if (of > best_merit) {
            best_merit = of;
            best = {matches[first].begin, matches[last].end};
        }
    }
    return best;
}

std::uint32_t weight_in_passages(std::uint64_t documents, std::uint64_t holders) {
    if (holders == 0 || holders >= documents) return 1;
    const double rarity = canonical_log(static_cast<double>(documents) / static_cast<double>(holders));
    return 1 + static_cast<std::uint32_t>(std::nearbyint(4 * rarity));
}

}  // namespace quern::search_detail
