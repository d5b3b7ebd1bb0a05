// SPDX-License-Identifier: Apache-2.0
// Lists in memory. A lower bound of the k-th score tells which entries can matter. Scores fall, so this is known before any
// id is read (reading_plan.hpp).
//
//   1. The first entries of every list get rows. The k-th best lower bound of these objects is such a bound, s. Where
//      single scores decide (heavy tails, ranks), objects below these prefixes cannot reach s, and step 2 is skipped.
//   2. Otherwise all lists are marked in bitmaps to the depth where k objects are in every list; their scores give a
//      better s. The marks continue to the depth where objects that lack about two lists, and are in no prefix, cannot reach
//      s. The remaining objects are the candidates: their values are fetched.
//   3. Open candidates are searched further down, with a filter of few bits. Their number falls with the bounds, until none
//      is left.
//
// Where that would cost more than reading everything, or lists turn out to contradict each other, everything is read.
//
// Why it is exact: a candidate is dropped only if the k-th best lower bound, with its id, precedes its upper bound; any
// other object, only if its maximum score is less than s. Bounds are monotone to the last bit (lists.hpp).
#include "ops/rank_aggregation/aggregation_methods.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "ops/rank_aggregation/list_kernels.hpp"
#include "ops/rank_aggregation/marked_objects.hpp"

namespace quern::rank_aggregation_detail {
namespace {

/// Finds which of many ids may be among a few: reads one bit per id, from so few bits that they stay in a core's caches.
class id_filter {
  public:
    /// For that many ids: 64 bits each, from 8 KiB to 1 MiB.
    explicit id_filter(std::size_t ids)
        : shift_(32 - std::clamp(static_cast<int>(std::bit_width(64 * ids)), 16, 23)),
          words_(std::size_t{1} << (27 - shift_)) {}

    void add(std::uint32_t id) {
        const std::uint32_t bit = filter_bit(id, shift_);
        words_[bit / 32] |= std::uint32_t{1} << (bit % 32);
    }
    /// Finds the positions of added ids, and of a few others; returns their number. `positions` must hold all.
    std::size_t find(std::span<const std::uint32_t> ids, std::uint32_t* positions) const {
        return find_marked(ids, words_.data(), shift_, positions);
    }

  private:
    int shift_;
    std::vector<std::uint32_t> words_;
};

constexpr std::uint64_t first_prefixes = 256;

template <class Score>
class early_stop {
  public:
    early_stop(checked_lists<Score>& lists, std::uint32_t k, const reading_costs& costs)
        : lists_(lists),
          rule_(lists.rule()),
          k_(k),
          costs_(costs),
          plans_(lists, costs_),
          rows_(lists.lists()) {}

    /// None if reading everything is better.
    std::optional<automatic_result> found() {
        if (!choose_candidates()) return std::nullopt;
        close_open_rows();
        found_objects all{resolved_, max_rows_};
        std::ranges::sort(all.best, precedes);
        all.best.resize(std::min<std::size_t>(k_, all.best.size()));
        return automatic_result{std::move(all), lists_.depths(),
                                bitmaps_ ? reading_way::bitmaps : reading_way::prefixes};
    }

  private:
    bool choose_candidates() {
        const double everything = plans_.everything();
        if (plans_.all_prefixes() <= everything) {
            add_prefixes(lists_.longest());
            return true;
        }
        const std::uint64_t prefixes = std::max<std::uint64_t>(first_prefixes, k_);
        if (std::max(plans_.prefixes_to(prefixes), costs_.planning) > everything) return false;
        add_prefixes(prefixes);
        update();
        const std::optional<reading_plan> plan = best_plan(everything);
        if (worth_a_better_bound(plan ? plan->cost : everything) && read_until_k_are_complete()) {
            fetch(0);
            update();
            if (lists_.all_ended()) return true;
            const std::optional<reading_plan> better = best_plan(everything);
            return better && follow(*better);
        }
        return plan && follow(*plan);
    }

    /// Whether marking first may gain more than its minimum cost: the k-th score is not above the k-th upper bound.
    bool worth_a_better_bound(double cost) const {
        if (!threshold_) return true;
        std::vector<double> max = upper_;
        const auto kth = max.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
        std::nth_element(max.begin(), kth, max.end(), std::greater<>());
        const double setting_bits = plans_.to_depth(plans_.independent_depth(k_) / 8);
        const double bound = std::max(*kth, unseen_below([&](std::size_t i) { return lists_.depth(i); }));
        return plans_.cheapest(bound, 0, 0.7 * cost - setting_bits).has_value();
    }

    std::optional<reading_plan> best_plan(double max_cost) const {
        return threshold_ ? plans_.cheapest(threshold_->score, bitmaps_ ? bits_set_ : 0, max_cost)
                          : std::nullopt;
    }

    /// The maximum score of an object that is below a depth of each list.
    template <class Depth>
    double unseen_below(const Depth& depth) const {
        std::vector<double> unseen;
        for (std::size_t i = 0; i < lists_.lists(); ++i) unseen.push_back(lists_.bound(i, depth(i)));
        return rule_.score(unseen);
    }

    // ---- Prefixes ----

    /// Adds rows for the first entries of all lists. Entries below have no rows yet.
    void add_prefixes(std::uint64_t depth) {
        const auto ranges = lists_.below(depth, false);
        lists_.read(ranges, [](std::size_t, std::uint64_t, std::uint64_t) { return true; });
        for (const auto& [list, begin, end] : ranges) {
            for (std::uint64_t at = begin; at < end; ++at) {
                const std::uint32_t row = rows_.add(lists_.view(list).ids[at]);
                if (!rows_.see(row, list, lists_.value(list, at))) lists_.refuse(list, end);
            }
        }
        start_rows();
        max_rows_ = std::max<std::uint64_t>(max_rows_, rows_.size());
    }

    // ---- Bitmaps ----

    void set_bits_to(std::uint64_t depth) {
        if (!bitmaps_) {
            bitmaps_.emplace(lists_.place(), lists_.lists(), lists_.objects());
            chosen_ = cpu_array<std::uint64_t>(lists_.place(), bitmaps_->words(), "the objects that count");
        }
        std::vector<list_range> ranges;
        for (std::size_t i = 0; i < lists_.lists(); ++i) {
            const std::uint64_t begin = std::min(bits_set_, lists_.size(i)),
                                end = std::min(depth, lists_.size(i));
            if (begin < end) ranges.push_back({i, begin, end});
        }
        lists_.read(ranges, [&](std::size_t s, std::uint64_t begin, std::uint64_t end) {
            const std::size_t list = ranges[s].list;
            return bitmaps_->set_bit(list, lists_.view(list).ids.subspan(begin, end - begin));
        });
        bits_set_ = std::max(bits_set_, depth);
    }

    std::vector<std::size_t> unended_lists() const {
        std::vector<std::size_t> undecided;
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            if (!lists_.ended(i)) undecided.push_back(i);
        return undecided;
    }

    /// False if that would cost more than reading everything.
    bool read_until_k_are_complete() {
        const auto lists = static_cast<double>(lists_.lists()),
                   objects = static_cast<double>(lists_.objects());
        const std::uint64_t independent = plans_.independent_depth(k_);
        // Deep enough that 64 objects are in both of two lists, if these are independent.
        std::uint64_t depth = std::max({independent / 8, static_cast<std::uint64_t>(8 * std::sqrt(objects)),
                                        std::uint64_t{k_}, lists_.deepest()});
        for (;;) {
            depth = std::min(depth, lists_.longest());
            set_bits_to(depth);
            const std::uint64_t complete = bitmaps_->missing_at_most(0, unended_lists(), chosen_.span());
            if (complete >= k_ || lists_.all_ended()) return true;
            const double grow =
                std::pow(static_cast<double>(k_) / std::max(1.0, static_cast<double>(complete)), 1 / lists);
            std::uint64_t wanted = 1 + static_cast<std::uint64_t>(static_cast<double>(depth) * 1.02 * grow);
            std::uint64_t max = 2 * depth;
            if (complete == 0) {
                const double overlap = min_overlap();
                wanted = overlap < 0.25 ? lists_.longest() : max;  // they contradict each other
                if (overlap >= 0.25 && overlap < 1.5) {
                    wanted = max = std::max(max, independent);
                    // An object that is complete there has at least this score, and the k-th of them not much more.
                    const double bound = unseen_below([&](std::size_t) { return independent; });
                    if (!plans_.cheapest(bound, bits_set_, 1.5 * plans_.everything())) return false;
                }
            }
            const double rows = wanted >= lists_.longest() ? plans_.all_prefixes() : 0;
            if (1.3 * plans_.to_depth(wanted) + rows > plans_.everything()) return false;
            depth = std::clamp(wanted, depth + depth / 20 + 1, max);
        }
    }

    /// The number of objects that two neighbouring lists share, relative to that of independent lists; the minimum.
    double min_overlap() const {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i + 1 < lists_.lists(); ++i) {
            const double expected = static_cast<double>(lists_.depth(i)) /
                                    static_cast<double>(lists_.objects()) *
                                    static_cast<double>(lists_.depth(i + 1));
            if (expected >= 32)
                least = std::min(least, static_cast<double>(bitmaps_->in_both(i, i + 1)) / expected);
        }
        return least;
    }

    /// Makes rows for the chosen objects and those of the prefixes, with all values as far as lists were marked.
    void fetch(std::uint64_t prefixes) {
        std::uint64_t* const words = chosen_.data();
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            for (const std::uint32_t id : lists_.view(i).ids.first(std::min(prefixes, lists_.size(i))))
                words[id / 64] |= std::uint64_t{1} << (id % 64);
        rows_.clear();
        for (std::size_t w = 0; w < bitmaps_->words(); ++w)
            for (std::uint64_t left = words[w]; left != 0; left &= left - 1)
                rows_.add(static_cast<std::uint32_t>(64 * w + static_cast<unsigned>(std::countr_zero(left))));
        max_rows_ = std::max<std::uint64_t>(max_rows_, rows_.size());
        start_rows();
        look_for_undecided(lists_.read_so_far(), false);
    }

    /// False if there are so many candidates that reading everything is better.
    bool follow(const reading_plan& plan) {
        if (!bitmaps_ && plan.depth == 0) {
            add_prefixes(plan.prefixes);
            return true;
        }
        set_bits_to(std::max(plan.prefixes, plan.depth));
        if (plan.depth == 0) {
            std::ranges::fill(chosen_.span(), 0);
        } else if (static_cast<double>(
                       bitmaps_->missing_at_most(plan.missing_lists - 1, unended_lists(), chosen_.span())) *
                       plans_.of_candidate() >
                   plans_.everything()) {
            return false;
        }
        fetch(plan.prefixes);
        return true;
    }

    // ---- Bounds ----

    double bound_of(std::uint32_t row, std::span<const double> others) const {
        const std::span<const double> values = rows_.values(row);
        score_sum sum(rule_.rule());
        for (std::size_t i = 0; i < values.size(); ++i)
            sum.take(std::isnan(values[i]) ? others[i] : values[i]);
        return sum.score(rule_.weights());
    }

    void start_rows() {
        undecided_.resize(rows_.size());
        std::iota(undecided_.begin(), undecided_.end(), 0u);
        resolved_.clear();
    }

    /// Resolves rows whose score is known, and drops those that cannot be among the best.
    void update() {
        std::vector<double> max;
        for (std::size_t i = 0; i < lists_.lists(); ++i) max.push_back(lists_.bound(i, lists_.depth(i)));
        std::vector<scored_object> lower = resolved_;
        upper_.clear();
        for (const std::uint32_t row : undecided_) {
            lower.push_back({bound_of(row, rule_.floor_values()), rows_.id(row)});
            upper_.push_back(bound_of(row, max));
        }
        const std::size_t before = resolved_.size();
        std::size_t kept = 0;
        raise_threshold(lower);
        for (std::size_t j = 0; j < undecided_.size(); ++j) {
            const scored_object least = lower[before + j];
            if (threshold_ && precedes(*threshold_, {upper_[j], least.id})) continue;
            // Seen in all lists, or the score does not depend on the others.
            if (least.score == upper_[j]) {
                resolved_.push_back(least);
            } else {
                upper_[kept] = upper_[j];
                undecided_[kept++] = undecided_[j];
            }
        }
        undecided_.resize(kept);
        if (threshold_)
            std::erase_if(resolved_, [&](const scored_object& one) { return precedes(*threshold_, one); });
        upper_.resize(kept);
        for (const scored_object& one : resolved_) upper_.push_back(one.score);
    }

    /// Raises it to the k-th of the lower bounds.
    void raise_threshold(std::vector<scored_object> lower) {
        if (lower.size() < k_) return;
        const auto kth = lower.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
        std::nth_element(lower.begin(), kth, lower.end(), precedes);
        if (!threshold_ || precedes(*kth, *threshold_)) threshold_ = *kth;
    }

    // ---- Searching for the open rows ----

    void close_open_rows() {
        for (update(); !undecided_.empty() && !lists_.all_ended(); update()) {
            const std::uint64_t deepest = lists_.deepest();
            look_for_undecided(lists_.below(deepest + deepest / 8 + 4096, true), true);
        }
    }

    /// Adds the values of the open rows in the ranges. `fresh`: entries not read before, with ids not marked.
    void look_for_undecided(const std::vector<list_range>& ranges, bool fresh) {
        id_filter filter(undecided_.size());
        for (const std::uint32_t row : undecided_) filter.add(rows_.id(row));
        std::vector<std::vector<std::uint64_t>> found(ranges.size());
        const auto look = [&](std::size_t s, std::uint64_t begin, std::uint64_t end) {
            std::uint32_t positions[checked_lists<Score>::block];
            const auto ids = lists_.view(ranges[s].list).ids.subspan(begin, end - begin);
            const std::size_t count = filter.find(ids, positions);
            for (std::size_t j = 0; j < count; ++j) found[s].push_back(begin + positions[j]);
            return true;
        };
        if (fresh) {
            lists_.read(ranges, look);
        } else {
            lists_.visit(ranges, look);
        }
        for (std::size_t s = 0; s < ranges.size(); ++s) {
            const auto& [list, begin, end] = ranges[s];
            for (const std::uint64_t at : found[s]) {
                const std::uint32_t row = rows_.row_of(lists_.view(list).ids[at]);
                if (row != object_rows::none && !rows_.see(row, list, lists_.value(list, at)))
                    lists_.refuse(list, end);
            }
        }
    }

    checked_lists<Score>& lists_;
    const scoring& rule_;
    std::uint32_t k_;
    reading_costs costs_;
    planner<Score> plans_;
    object_rows rows_;
    std::uint64_t max_rows_ = 0, bits_set_ = 0;
    std::optional<object_bitmaps> bitmaps_;
    cpu_array<std::uint64_t> chosen_;         ///< one bit per object
    std::vector<std::uint32_t> undecided_;    ///< rows whose score is not known
    std::vector<scored_object> resolved_;     ///< the others that can be among the best
    std::vector<double> upper_;               ///< maximum scores of the open rows, and of the settled ones
    std::optional<scored_object> threshold_;  ///< objects after it are not among the best
};

}  // namespace

template <class Score>
automatic_result automatic(cpu_place& place, const scoring& rule,
                           std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                           std::uint32_t k, const reading_costs& costs) {
    checked_lists<Score> read(place, rule, lists, objects);
    if (auto found = early_stop<Score>(read, k, costs).found()) return std::move(*found);
    return read_everything(read, k, costs);
}
template automatic_result automatic(cpu_place&, const scoring&, std::span<const ranked_list_view<float>>,
                                    std::uint32_t, std::uint32_t, const reading_costs&);
template automatic_result automatic(cpu_place&, const scoring&, std::span<const ranked_list_view<double>>,
                                    std::uint32_t, std::uint32_t, const reading_costs&);

}  // namespace quern::rank_aggregation_detail
