// SPDX-License-Identifier: Apache-2.0
#include "ops/top_k/reading_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quern::top_k_detail {
namespace {

constexpr std::uint64_t some_heads[] = {0, 64, 512, 4096, 32768, 262144};
constexpr std::size_t some_lacking[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48};
constexpr std::uint64_t most_sets = 20'000;  // of lists, looked at one by one
constexpr int most_steps = 8;

/// How many sets of `size` of `all`; no more than most_sets + 1.
std::uint64_t sets_of(std::size_t all, std::size_t size) {
    std::uint64_t count = 1;
    for (std::size_t i = 0; i < size && count <= most_sets; ++i) count = count * (all - i) / (i + 1);
    return count;
}

/// Bounds of what an object has in each list: where it lacks it at the depth, and where it is only in no head.
// The arrays are filled as far as there are lists: a plan takes hundreds of them.
struct two_bounds {  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::size_t lists = 0, opened = 0;
    double lacking[most_lists], other[most_lists];
    std::uint8_t open[most_lists];  ///< the first `opened`: lists that have not ended at the depth

    std::span<const double> lacking_all() const { return {lacking, lists}; }
};

/// Into memory of the caller: many depths are tried.
template <class Score>
void take_bounds(const checked_lists<Score>& lists, std::uint64_t heads, std::uint64_t depth,
                 two_bounds& at) {
    at.lists = lists.lists();
    at.opened = 0;
    for (std::size_t i = 0; i < lists.lists(); ++i) {
        at.lacking[i] = lists.bound(i, depth);
        at.other[i] = lists.bound(i, heads);
        if (depth < lists.size(i)) at.open[at.opened++] = static_cast<std::uint8_t>(i);
    }
}

/// Whether some set of `left` more of the open lists, from the `next` on, lets an object that lacks them reach `needed`.
/// `sum` holds the lists before `list`.
bool any_set_reaches(const scoring& rule, const two_bounds& at, double needed, score_sum sum,
                     std::size_t list, std::size_t next, std::size_t left) {
    for (; list < at.lists; ++list) {
        const bool is_open = next < at.opened && at.open[next] == list;
        if (is_open && left > 0) {
            score_sum without = sum;
            without.take(at.lacking[list]);
            if (any_set_reaches(rule, at, needed, without, list + 1, next + 1, left - 1)) return true;
        }
        next += is_open ? 1 : 0;
        if (at.opened - next < left) return false;
        sum.take(at.other[list]);
    }
    return sum.score(rule.weights()) >= needed;
}

}  // namespace

template <class Score>
bool planner<Score>::likely_out(double needed, std::uint64_t heads, std::size_t lacking,
                                std::uint64_t depth) const {
    const scoring& rule = lists_.rule();
    two_bounds at;
    take_bounds(lists_, heads, depth, at);
    if (at.opened != 0 && rule.score(at.lacking_all()) >= needed) return false;  // never seen
    if (at.opened < lacking) return true;
    const std::span<double> values(at.other, at.lists);
    std::pair<double, std::size_t> left[most_lists];  // what an object has at most that lacks this list alone
    for (std::size_t o = 0; o < at.opened; ++o) {
        const std::size_t i = at.open[o];
        const double other = values[i];
        values[i] = at.lacking[i];
        left[o] = {-rule.score(values), i};
        values[i] = other;
    }
    std::nth_element(left, left + lacking - 1, left + at.opened);
    for (std::size_t o = 0; o < lacking; ++o) values[left[o].second] = at.lacking[left[o].second];
    return rule.score(values) < needed;
}

template <class Score>
bool planner<Score>::surely_out(double needed, std::uint64_t heads, std::size_t lacking,
                                std::uint64_t depth) const {
    const scoring& rule = lists_.rule();
    two_bounds at;
    take_bounds(lists_, heads, depth, at);
    if (at.opened != 0 && rule.score(at.lacking_all()) >= needed) return false;
    if (at.opened < lacking) return true;
    return !any_set_reaches(rule, at, needed, score_sum(rule.rule()), 0, 0, lacking);
}

template <class Score>
std::uint64_t planner<Score>::least_depth(double needed, std::uint64_t heads, std::size_t lacking,
                                          std::uint64_t from, std::uint64_t to) const {
    std::uint64_t low = from, high = to;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (likely_out(needed, heads, lacking, middle)) {
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
double planner<Score>::heads_to(std::uint64_t depth) const {
    return entries_to(depth) * costs_.head;
}

template <class Score>
double planner<Score>::to_depth(std::uint64_t depth) const {
    return entries_to(depth) * (costs_.mark + costs_.fetch);
}

template <class Score>
std::uint64_t planner<Score>::independent_depth(std::uint32_t k) const {
    // Of independent lists of all objects a share p^lists is complete at the share p.
    const double share =
        std::pow(static_cast<double>(k) / std::max(1.0, static_cast<double>(lists_.objects())),
                 1 / static_cast<double>(lists_.lists()));
    return static_cast<std::uint64_t>(0.95 * share * static_cast<double>(lists_.longest()));
}

template <class Score>
double planner<Score>::expected_candidates(std::size_t lacking, std::uint64_t depth) const {
    const auto all = static_cast<double>(lists_.objects()), count = static_cast<double>(lists_.lists());
    const double share = std::min(1.0, entries_to(depth) / count / std::max(1.0, all));
    double sets = 1, sum = 0;
    for (std::size_t t = 0; t < lacking; ++t) {
        const auto missing = static_cast<double>(t);
        sum += sets * std::pow(1 - share, missing) * std::pow(share, count - missing);
        sets *= (count - missing) / (missing + 1);
    }
    return all * sum;
}

template <class Score>
reading_plan planner<Score>::heads_only(double needed, double closing) const {
    std::uint64_t low = 1, high = lists_.longest();
    two_bounds at;
    const auto out = [&](std::uint64_t heads) {
        take_bounds(lists_, heads, heads, at);
        return at.opened == 0 || lists_.rule().score(at.lacking_all()) < needed;
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
            entries_to(high) * costs_.head + std::max(0.0, closing - entries_to(high)) * costs_.scan};
}

template <class Score>
std::optional<reading_plan> planner<Score>::with_planes(double needed, std::uint64_t heads,
                                                        std::size_t lacking, std::uint64_t marked,
                                                        double closing, double most_cost) const {
    const double words = static_cast<double>(lists_.objects()) / 64 * static_cast<double>(lists_.lists());
    const auto cost = [&](std::uint64_t depth) {
        return to_depth(depth) - entries_to(marked) * costs_.mark + words * costs_.plane_word +
               (entries_to(heads) + expected_candidates(lacking, depth)) * of_candidate() +
               std::max(0.0, closing - entries_to(depth)) * costs_.scan;
    };
    // Most plans cost too much: one look says so.
    const std::uint64_t from = std::max({heads, marked, std::uint64_t{1}}),
                        most = affordable_depth(most_cost + entries_to(marked) * costs_.mark);
    if (from > most || cost(from) >= most_cost || !likely_out(needed, heads, lacking, most))
        return std::nullopt;
    std::uint64_t depth = least_depth(needed, heads, lacking, from, most);
    for (int step = 0; cost(depth) < most_cost; ++step) {
        if (surely_out(needed, heads, lacking, depth))
            return reading_plan{heads, depth, lacking, cost(depth)};
        if (step == most_steps) break;
        depth = std::min(lists_.longest(), depth + depth / 64 + 1);
    }
    return std::nullopt;
}

template <class Score>
std::optional<reading_plan> planner<Score>::cheapest(double needed, std::uint64_t marked,
                                                     double most_cost) const {
    if (lists_.longest() == 0) return std::nullopt;
    // There the last candidate that lacks a list is out.
    const double closing = entries_to(least_depth(needed, 0, 1, 1, lists_.longest()));
    std::optional<reading_plan> best;
    const auto take = [&](const reading_plan& plan) {
        if (plan.cost < most_cost) {
            best = plan;
            most_cost = plan.cost;
        }
    };
    take(heads_only(needed, closing));
    // Planning is to be a small part of what it could save: a set takes some ns a list, for each plan that is tried.
    const double sets =
        std::min(static_cast<double>(most_sets), everything() / (1000 * static_cast<double>(lists_.lists())));
    for (const std::uint64_t heads : some_heads) {
        if (heads > lists_.longest() || entries_to(heads) * costs_.head >= most_cost) break;
        for (const std::size_t lacking : some_lacking) {
            if (lacking > lists_.lists()) break;
            if (static_cast<double>(sets_of(lists_.lists(), lacking)) > sets) continue;
            if (const auto plan = with_planes(needed, heads, lacking, marked, closing, most_cost))
                take(*plan);
        }
    }
    return best;
}

template class planner<float>;
template class planner<double>;

}  // namespace quern::top_k_detail
