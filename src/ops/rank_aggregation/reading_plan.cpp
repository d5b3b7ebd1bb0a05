// SPDX-License-Identifier: Apache-2.0
#include "ops/rank_aggregation/reading_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quern::rank_aggregation_detail {
namespace {

constexpr std::uint64_t some_prefixes[] = {0, 64, 512, 4096, 32768, 262144};
constexpr std::size_t some_missing[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48};
constexpr std::uint64_t max_sets = 20'000;  // of lists, checked one by one
constexpr int max_steps = 8;

/// The number of sets of `size` out of `all`, capped at max_sets + 1.
std::uint64_t sets_of(std::size_t all, std::size_t size) {
    std::uint64_t count = 1;
    for (std::size_t i = 0; i < size && count <= max_sets; ++i) count = count * (all - i) / (i + 1);
    return count;
}

/// Bounds of an object's value in each list: where it is missing at the depth, and where it is only outside the prefixes.
// The arrays are filled only up to the number of lists: a plan uses hundreds of them.
struct two_bounds {  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::size_t lists = 0, opened = 0;
    double missing_lists[max_lists], other[max_lists];
    std::uint8_t undecided[max_lists];  ///< the first `opened`: lists that have not ended at the depth

    std::span<const double> all_missing_lists() const { return {missing_lists, lists}; }
};

/// Writes to memory of the caller: many depths are tried.
template <class Score>
void take_bounds(const checked_lists<Score>& lists, std::uint64_t prefixes, std::uint64_t depth,
                 two_bounds& at) {
    at.lists = lists.lists();
    at.opened = 0;
    for (std::size_t i = 0; i < lists.lists(); ++i) {
        at.missing_lists[i] = lists.bound(i, depth);
        at.other[i] = lists.bound(i, prefixes);
        if (depth < lists.size(i)) at.undecided[at.opened++] = static_cast<std::uint8_t>(i);
    }
}

/// Whether some set of `left` more of the open lists, from the `next` on, lets an object that lacks them reach `threshold`.
/// `sum` contains the lists before `list`.
bool any_set_reaches(const scoring& rule, const two_bounds& at, double threshold, score_sum sum,
                     std::size_t list, std::size_t next, std::size_t left) {
    for (; list < at.lists; ++list) {
        const bool is_open = next < at.opened && at.undecided[next] == list;
        if (is_open && left > 0) {
            score_sum without = sum;
            without.take(at.missing_lists[list]);
            if (any_set_reaches(rule, at, threshold, without, list + 1, next + 1, left - 1)) return true;
        }
        next += is_open ? 1 : 0;
        if (at.opened - next < left) return false;
        sum.take(at.other[list]);
    }
    return sum.score(rule.weights()) >= threshold;
}

}  // namespace

template <class Score>
bool planner<Score>::likely_excluded(double threshold, std::uint64_t prefixes, std::size_t missing_lists,
                                     std::uint64_t depth) const {
    const scoring& rule = lists_.rule();
    two_bounds at;
    take_bounds(lists_, prefixes, depth, at);
    if (at.opened != 0 && rule.score(at.all_missing_lists()) >= threshold) return false;  // never seen
    if (at.opened < missing_lists) return true;
    const std::span<double> values(at.other, at.lists);
    std::pair<double, std::size_t> left[max_lists];  // the maximum of an object that lacks only this list
    for (std::size_t o = 0; o < at.opened; ++o) {
        const std::size_t i = at.undecided[o];
        const double other = values[i];
        values[i] = at.missing_lists[i];
        left[o] = {-rule.score(values), i};
        values[i] = other;
    }
    std::nth_element(left, left + missing_lists - 1, left + at.opened);
    for (std::size_t o = 0; o < missing_lists; ++o) values[left[o].second] = at.missing_lists[left[o].second];
    return rule.score(values) < threshold;
}

template <class Score>
bool planner<Score>::surely_excluded(double threshold, std::uint64_t prefixes, std::size_t missing_lists,
                                     std::uint64_t depth) const {
    const scoring& rule = lists_.rule();
    two_bounds at;
    take_bounds(lists_, prefixes, depth, at);
    if (at.opened != 0 && rule.score(at.all_missing_lists()) >= threshold) return false;
    if (at.opened < missing_lists) return true;
    return !any_set_reaches(rule, at, threshold, score_sum(rule.rule()), 0, 0, missing_lists);
}

template <class Score>
std::uint64_t planner<Score>::min_depth(double threshold, std::uint64_t prefixes, std::size_t missing_lists,
                                        std::uint64_t from, std::uint64_t to) const {
    std::uint64_t low = from, high = to;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (likely_excluded(threshold, prefixes, missing_lists, middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return high;
}

template <class Score>
double planner<Score>::of_candidate() const {
    return costs_.candidate + costs_.found * static_cast<double>(lists_.lists());
}

template <class Score>
double planner<Score>::entries_to(std::uint64_t depth) const {
    std::uint64_t entries = 0;
    for (std::size_t i = 0; i < lists_.lists(); ++i) entries += std::min(depth, lists_.size(i));
    return static_cast<double>(entries);
}

template <class Score>
std::uint64_t planner<Score>::affordable_depth(double cost) const {
    std::uint64_t low = 0, high = lists_.longest();
    while (low < high) {
        const std::uint64_t middle = high - (high - low) / 2;
        if (to_depth(middle) <= cost) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

template <class Score>
double planner<Score>::everything() const {
    const bool cached = lists_.objects() <= costs_.cached_objects;
    return static_cast<double>(lists_.entries()) * (cached ? costs_.everything_cached : costs_.everything) +
           static_cast<double>(lists_.objects()) * costs_.object;
}

template <class Score>
double planner<Score>::prefixes_to(std::uint64_t depth) const {
    return entries_to(depth) * costs_.prefix_entry;
}

template <class Score>
double planner<Score>::to_depth(std::uint64_t depth) const {
    return entries_to(depth) * (costs_.set_bit + costs_.fetch);
}

template <class Score>
std::uint64_t planner<Score>::independent_depth(std::uint32_t k) const {
    // If lists are independent, a share p^lists of the objects is complete at the share p.
    const double share =
        std::pow(static_cast<double>(k) / std::max(1.0, static_cast<double>(lists_.objects())),
                 1 / static_cast<double>(lists_.lists()));
    return static_cast<std::uint64_t>(0.95 * share * static_cast<double>(lists_.longest()));
}

template <class Score>
double planner<Score>::expected_candidates(std::size_t missing_lists, std::uint64_t depth) const {
    const auto all = static_cast<double>(lists_.objects()), count = static_cast<double>(lists_.lists());
    const double share = std::min(1.0, entries_to(depth) / count / std::max(1.0, all));
    double sets = 1, sum = 0;
    for (std::size_t t = 0; t < missing_lists; ++t) {
        const auto missing = static_cast<double>(t);
        sum += sets * std::pow(1 - share, missing) * std::pow(share, count - missing);
        sets *= (count - missing) / (missing + 1);
    }
    return all * sum;
}

template <class Score>
reading_plan planner<Score>::prefixes_only(double threshold, double closing) const {
    std::uint64_t low = 1, high = lists_.longest();
    two_bounds at;
    const auto out = [&](std::uint64_t prefixes) {
        take_bounds(lists_, prefixes, prefixes, at);
        return at.opened == 0 || lists_.rule().score(at.all_missing_lists()) < threshold;
    };
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (out(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return {high, 0, 0,
            entries_to(high) * costs_.prefix_entry + std::max(0.0, closing - entries_to(high)) * costs_.scan};
}

template <class Score>
std::optional<reading_plan> planner<Score>::with_bitmaps(double threshold, std::uint64_t prefixes,
                                                         std::size_t missing_lists, std::uint64_t bits_set,
                                                         double closing, double max_cost) const {
    const double words = static_cast<double>(lists_.objects()) / 64 * static_cast<double>(lists_.lists());
    const auto cost = [&](std::uint64_t depth) {
        return to_depth(depth) - entries_to(bits_set) * costs_.set_bit + words * costs_.bitmap_word +
               (entries_to(prefixes) + expected_candidates(missing_lists, depth)) * of_candidate() +
               std::max(0.0, closing - entries_to(depth)) * costs_.scan;
    };
    // Most plans cost too much, which one check shows.
    const std::uint64_t from = std::max({prefixes, bits_set, std::uint64_t{1}}),
                        max = affordable_depth(max_cost + entries_to(bits_set) * costs_.set_bit);
    if (from > max || cost(from) >= max_cost || !likely_excluded(threshold, prefixes, missing_lists, max))
        return std::nullopt;
    std::uint64_t depth = min_depth(threshold, prefixes, missing_lists, from, max);
    for (int step = 0; cost(depth) < max_cost; ++step) {
        if (surely_excluded(threshold, prefixes, missing_lists, depth))
            return reading_plan{prefixes, depth, missing_lists, cost(depth)};
        if (step == max_steps) break;
        depth = std::min(lists_.longest(), depth + depth / 64 + 1);
    }
    return std::nullopt;
}

template <class Score>
std::optional<reading_plan> planner<Score>::cheapest(double threshold, std::uint64_t bits_set,
                                                     double max_cost) const {
    if (lists_.longest() == 0) return std::nullopt;
    // There the last candidate that lacks a list is excluded.
    const double closing = entries_to(min_depth(threshold, 0, 1, 1, lists_.longest()));
    std::optional<reading_plan> best;
    const auto take = [&](const reading_plan& plan) {
        if (plan.cost < max_cost) {
            best = plan;
            max_cost = plan.cost;
        }
    };
    take(prefixes_only(threshold, closing));
    // Planning should be a small part of its possible saving: a set takes a few ns per list, for each plan tried.
    const double sets =
        std::min(static_cast<double>(max_sets), everything() / (1000 * static_cast<double>(lists_.lists())));
    for (const std::uint64_t prefixes : some_prefixes) {
        if (prefixes > lists_.longest() || entries_to(prefixes) * costs_.prefix_entry >= max_cost) break;
        for (const std::size_t missing_lists : some_missing) {
            if (missing_lists > lists_.lists()) break;
            if (static_cast<double>(sets_of(lists_.lists(), missing_lists)) > sets) continue;
            if (const auto plan =
                    with_bitmaps(threshold, prefixes, missing_lists, bits_set, closing, max_cost))
                take(*plan);
        }
    }
    return best;
}

template class planner<float>;
template class planner<double>;

}  // namespace quern::rank_aggregation_detail
