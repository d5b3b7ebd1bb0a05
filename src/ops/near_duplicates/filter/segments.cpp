// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/segments.hpp"

#include <limits>

namespace quern::near_duplicates_detail {

agreements::agreements(std::uint32_t length)
    : length_(length),
      step_((length + max_places - 1) / max_places + (length == 0 ? 1 : 0)),
      places_((length + step_ - 1) / step_),
      counts_(std::size_t{places_ + 1} * (places_ + 1)),
      changes_(length + std::size_t{1}),
      unseen_(counts_.size()) {}

void agreements::add_run(std::uint32_t begin, std::uint32_t end) {
    ++changes_[begin], --changes_[end];
    const std::uint32_t first = (begin + step_ - 1) / step_, last = end == length_ ? places_ : end / step_;
    if (first < last) ++count(first, last);
}

void agreements::finish() {
    // From the longest runs to all that they contain.
    for (std::uint32_t first = 0; first <= places_; ++first) {
        for (std::uint32_t last = places_ + 1; last-- > first;) {
            std::uint32_t sum = count(first, last);
            if (last < places_) sum += count(first, last + 1);
            if (first > 0) sum += count(first - 1, last);
            if (first > 0 && last < places_) sum -= count(first - 1, last + 1);
            count(first, last) = sum;
        }
    }
    // What the sample does not show: units that agree by chance, independently, and words that are rarely repeated.
    const auto pairs = static_cast<double>(pairs_);
    std::vector<double> agree(length_);
    std::int64_t count_of_unit = 0;
    for (std::uint32_t i = 0; i < length_; ++i) {
        count_of_unit += changes_[i];
        agree[i] = (static_cast<double>(count_of_unit) + 0.5) / (pairs + 1);
    }
    constexpr double fewer = 0.84;  // with each further unit
    for (std::uint32_t first = 0; first < places_; ++first) {
        double by_chance = 1, rare = 1 / (2 * pairs + 1);
        for (std::uint32_t last = first + 1; last <= places_; ++last) {
            for (std::uint32_t i = unit(last - 1); i < unit(last); ++i) by_chance *= agree[i], rare *= fewer;
            unseen_[std::size_t{first} * (places_ + 1) + last] = by_chance + rare;
        }
    }
}

double agreements::cost(std::uint32_t segment, std::uint32_t distance, std::uint32_t first,
                        std::uint32_t last) const {
    const std::size_t at = std::size_t{first} * (places_ + 1) + last;
    const double seen = static_cast<double>(counts_[at]) / std::max(static_cast<double>(pairs_), 1.0);
    // Elsewhere than at their own place, segments are shared less often.
    constexpr double elsewhere = 0.25;
    return (seen + unseen_[at]) * (1 + elsewhere * (shifts_of(segment, distance, 0).size() - 1.0));
}

std::vector<std::uint32_t> agreements::cuts(std::uint32_t distance) const {
    const std::uint32_t segments = distance + 1;
    if (segments > places_) {  // steps are too long
        std::vector<std::uint32_t> even;
        for (std::uint32_t i = 0; i <= segments; ++i)
            even.push_back(static_cast<std::uint32_t>(std::uint64_t{i} * length_ / segments));
        return even;
    }
    // best[p]: of the first segments, which end at place p.
    constexpr double never = std::numeric_limits<double>::infinity();
    std::vector<double> best(places_ + 1, never), next(places_ + 1);
    std::vector<std::uint32_t> from(std::size_t{segments} * (places_ + 1));
    best[0] = 0;
    for (std::uint32_t s = 0; s < segments; ++s) {
        std::ranges::fill(next, never);
        for (std::uint32_t last = s + 1; last <= places_ - (segments - 1 - s); ++last) {
            for (std::uint32_t first = s; first < last; ++first) {
                if (best[first] == never) continue;
                const double all = best[first] + cost(s, distance, first, last);
                if (all >= next[last]) continue;
                next[last] = all;
                from[std::size_t{s} * (places_ + 1) + last] = first;
            }
        }
        best.swap(next);
    }
    std::vector<std::uint32_t> cuts(segments + 1);
    cuts[segments] = length_;
    for (std::uint32_t s = segments, place = places_; s-- > 0;) {
        place = from[std::size_t{s} * (places_ + 1) + place];
        cuts[s] = unit(place);
    }
    return cuts;
}

double agreements::matches(std::span<const std::uint32_t> cuts) const {
    const auto segments = static_cast<std::uint32_t>(cuts.size() - 1);
    double sum = 0;
    for (std::uint32_t s = 0; s < segments; ++s) {
        const std::uint32_t last = cuts[s + 1] == length_ ? places_ : cuts[s + 1] / step_;
        sum += cost(s, segments - 1, std::min(cuts[s] / step_, last), last);
    }
    return sum;
}

}  // namespace quern::near_duplicates_detail
