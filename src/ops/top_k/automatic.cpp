// SPDX-License-Identifier: Apache-2.0
// Lists in memory. A lower bound of the k-th score says which entries can matter; scores fall, so it says so before an id is
// looked at (reading_plan.hpp).
//
// 1. The first entries of every list get rows; the k-th best of what these objects have for certain is such a bound, s. Where
//    single scores decide (heavy tails, ranks), objects below these heads cannot reach s, and step 2 is passed over.
// 2. Otherwise all lists are marked in bit planes to the depth where k objects are in every one of them, whose scores are
//    a better s, and then to the depth where objects that lack two lists or so, and stand in no head, cannot reach it.
//    What remains are the candidates: their values are fetched.
// 3. Candidates that are open are looked for further down, by a filter of few bits: their number falls with the bounds, until
//    there is none.
//
// Where that would cost more than reading everything, or lists turn out to contradict each other, everything is read.
//
// Why it is exact: a candidate is dropped only when the k-th best lower bound, with its id, precedes its upper bound; any other
// object, when what it can have at most is less than s. Bounds are monotone to the last bit (score_rule.hpp).
#include "ops/top_k/automatic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "ops/top_k/id_filter.hpp"
#include "ops/top_k/object_planes.hpp"
#include "ops/top_k/object_rows.hpp"

namespace quern::top_k_detail {
namespace {

constexpr std::uint64_t first_heads = 256;

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

    /// None where reading everything is the better way.
    std::optional<automatic_answer> found() {
        if (!choose_candidates()) return std::nullopt;
        close_open_rows();
        found_objects all{settled_, most_rows_};
        std::ranges::sort(all.best, precedes);
        all.best.resize(std::min<std::size_t>(k_, all.best.size()));
        return automatic_answer{std::move(all), lists_.depths(),
                                planes_ ? reading_way::planes : reading_way::heads};
    }

  private:
    bool choose_candidates() {
        const double everything = plans_.everything();
        if (plans_.all_heads() <= everything) {
            add_heads(lists_.longest());
            return true;
        }
        const std::uint64_t heads = std::max<std::uint64_t>(first_heads, k_);
        if (std::max(plans_.heads_to(heads), costs_.planning) > everything) return false;
        add_heads(heads);
        update();
        const std::optional<reading_plan> plan = best_plan(everything);
        if (worth_a_better_bound(plan ? plan->cost : everything) && mark_until_k_are_complete()) {
            fetch(0);
            update();
            if (lists_.all_ended()) return true;
            const std::optional<reading_plan> better = best_plan(everything);
            return better && follow(*better);
        }
        return plan && follow(*plan);
    }

    /// Whether more may come of marking first than it costs at least: the k-th score is not above the k-th upper bound.
    bool worth_a_better_bound(double cost) const {
        if (!needed_) return true;
        std::vector<double> most = upper_;
        const auto kth = most.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
        std::nth_element(most.begin(), kth, most.end(), std::greater<>());
        const double marking = plans_.to_depth(plans_.independent_depth(k_) / 8);
        const double bound = std::max(*kth, unseen_below([&](std::size_t i) { return lists_.depth(i); }));
        return plans_.cheapest(bound, 0, 0.7 * cost - marking).has_value();
    }

    std::optional<reading_plan> best_plan(double most_cost) const {
        return needed_ ? plans_.cheapest(needed_->score, planes_ ? marked_ : 0, most_cost) : std::nullopt;
    }

    /// What an object has at most that is below a depth of each list.
    template <class Depth>
    double unseen_below(const Depth& depth) const {
        std::vector<double> unseen;
        for (std::size_t i = 0; i < lists_.lists(); ++i) unseen.push_back(lists_.bound(i, depth(i)));
        return rule_.score(unseen);
    }

    // ---- Heads ----

    /// Rows for the first entries of all lists; none is there for what lies below.
    void add_heads(std::uint64_t depth) {
        const auto stretches = lists_.below(depth, false);
        lists_.read(stretches, [](std::size_t, std::uint64_t, std::uint64_t) { return true; });
        for (const auto& [list, begin, end] : stretches) {
            for (std::uint64_t at = begin; at < end; ++at) {
                const std::uint32_t row = rows_.add(lists_.view(list).ids[at]);
                if (!rows_.see(row, list, lists_.value(list, at))) lists_.refuse(list, end);
            }
        }
        start_rows();
        most_rows_ = std::max<std::uint64_t>(most_rows_, rows_.size());
    }

    // ---- Planes ----

    void mark_to(std::uint64_t depth) {
        if (!planes_) {
            planes_.emplace(lists_.place(), lists_.lists(), lists_.objects());
            chosen_ = cpu_array<std::uint64_t>(lists_.place(), planes_->words(), "the objects that count");
        }
        std::vector<list_stretch> stretches;
        for (std::size_t i = 0; i < lists_.lists(); ++i) {
            const std::uint64_t begin = std::min(marked_, lists_.size(i)),
                                end = std::min(depth, lists_.size(i));
            if (begin < end) stretches.push_back({i, begin, end});
        }
        lists_.read(stretches, [&](std::size_t s, std::uint64_t begin, std::uint64_t end) {
            const std::size_t list = stretches[s].list;
            return planes_->mark(list, lists_.view(list).ids.subspan(begin, end - begin));
        });
        marked_ = std::max(marked_, depth);
    }

    std::vector<std::size_t> open_lists() const {
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            if (!lists_.ended(i)) open.push_back(i);
        return open;
    }

    /// False where that would come to more than reading everything.
    bool mark_until_k_are_complete() {
        const auto lists = static_cast<double>(lists_.lists()),
                   objects = static_cast<double>(lists_.objects());
        const std::uint64_t independent = plans_.independent_depth(k_);
        // Deep enough that 64 objects are in both of two lists, if these are independent.
        std::uint64_t depth = std::max({independent / 8, static_cast<std::uint64_t>(8 * std::sqrt(objects)),
                                        std::uint64_t{k_}, lists_.deepest()});
        for (;;) {
            depth = std::min(depth, lists_.longest());
            mark_to(depth);
            const std::uint64_t complete = planes_->lacking_at_most(0, open_lists(), chosen_.span());
            if (complete >= k_ || lists_.all_ended()) return true;
            const double grow =
                std::pow(static_cast<double>(k_) / std::max(1.0, static_cast<double>(complete)), 1 / lists);
            std::uint64_t wanted = 1 + static_cast<std::uint64_t>(static_cast<double>(depth) * 1.02 * grow);
            std::uint64_t most = 2 * depth;
            if (complete == 0) {
                const double overlap = least_overlap();
                wanted = overlap < 0.25 ? lists_.longest() : most;  // they contradict each other
                if (overlap >= 0.25 && overlap < 1.5) {
                    wanted = most = std::max(most, independent);
                    // Who is complete there has this at least, and the k-th of them not much more.
                    const double bound = unseen_below([&](std::size_t) { return independent; });
                    if (!plans_.cheapest(bound, marked_, 1.5 * plans_.everything())) return false;
                }
            }
            const double rows = wanted >= lists_.longest() ? plans_.all_heads() : 0;
            if (1.3 * plans_.to_depth(wanted) + rows > plans_.everything()) return false;
            depth = std::clamp(wanted, depth + depth / 20 + 1, most);
        }
    }

    /// How many objects two neighbouring lists share, as a part of what independent ones would; the least.
    double least_overlap() const {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i + 1 < lists_.lists(); ++i) {
            const double expected = static_cast<double>(lists_.depth(i)) /
                                    static_cast<double>(lists_.objects()) *
                                    static_cast<double>(lists_.depth(i + 1));
            if (expected >= 32)
                least = std::min(least, static_cast<double>(planes_->in_both(i, i + 1)) / expected);
        }
        return least;
    }

    /// Rows for the chosen objects and those of the heads, with all values as far as lists were marked.
    void fetch(std::uint64_t heads) {
        std::uint64_t* const words = chosen_.data();
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            for (const std::uint32_t id : lists_.view(i).ids.first(std::min(heads, lists_.size(i))))
                words[id / 64] |= std::uint64_t{1} << (id % 64);
        rows_.clear();
        for (std::size_t w = 0; w < planes_->words(); ++w)
            for (std::uint64_t left = words[w]; left != 0; left &= left - 1)
                rows_.add(static_cast<std::uint32_t>(64 * w + static_cast<unsigned>(std::countr_zero(left))));
        most_rows_ = std::max<std::uint64_t>(most_rows_, rows_.size());
        start_rows();
        look_for_open(lists_.read_so_far(), false);
    }

    /// False where candidates are so many that everything is better read.
    bool follow(const reading_plan& plan) {
        if (!planes_ && plan.depth == 0) {
            add_heads(plan.heads);
            return true;
        }
        mark_to(std::max(plan.heads, plan.depth));
        if (plan.depth == 0) {
            std::ranges::fill(chosen_.span(), 0);
        } else if (static_cast<double>(
                       planes_->lacking_at_most(plan.lacking - 1, open_lists(), chosen_.span())) *
                       plans_.of_candidate() >
                   plans_.everything()) {
            return false;
        }
        fetch(plan.heads);
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
        open_.resize(rows_.size());
        std::iota(open_.begin(), open_.end(), 0u);
        settled_.clear();
    }

    /// Settles rows whose score is known, and drops those that cannot be among the best.
    void update() {
        std::vector<double> most;
        for (std::size_t i = 0; i < lists_.lists(); ++i) most.push_back(lists_.bound(i, lists_.depth(i)));
        std::vector<scored_object> lower = settled_;
        upper_.clear();
        for (const std::uint32_t row : open_) {
            lower.push_back({bound_of(row, rule_.floor_values()), rows_.id(row)});
            upper_.push_back(bound_of(row, most));
        }
        const std::size_t before = settled_.size();
        std::size_t kept = 0;
        raise_needed(lower);
        for (std::size_t j = 0; j < open_.size(); ++j) {
            const scored_object least = lower[before + j];
            if (needed_ && precedes(*needed_, {upper_[j], least.id})) continue;
            // Seen in all lists, or the score does not depend on the others.
            if (least.score == upper_[j]) {
                settled_.push_back(least);
            } else {
                upper_[kept] = upper_[j];
                open_[kept++] = open_[j];
            }
        }
        open_.resize(kept);
        if (needed_)
            std::erase_if(settled_, [&](const scored_object& one) { return precedes(*needed_, one); });
        upper_.resize(kept);
        for (const scored_object& one : settled_) upper_.push_back(one.score);
    }

    /// To the k-th of the lower bounds.
    void raise_needed(std::vector<scored_object> lower) {
        if (lower.size() < k_) return;
        const auto kth = lower.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
        std::nth_element(lower.begin(), kth, lower.end(), precedes);
        if (!needed_ || precedes(*kth, *needed_)) needed_ = *kth;
    }

    // ---- Looking for them ----

    void close_open_rows() {
        for (update(); !open_.empty() && !lists_.all_ended(); update()) {
            const std::uint64_t deepest = lists_.deepest();
            look_for_open(lists_.below(deepest + deepest / 8 + 4096, true), true);
        }
    }

    /// Gives the open rows their values in the stretches. `fresh`: what was not read before, nor its ids marked.
    void look_for_open(const std::vector<list_stretch>& stretches, bool fresh) {
        id_filter filter(open_.size());
        for (const std::uint32_t row : open_) filter.add(rows_.id(row));
        std::vector<std::vector<std::uint64_t>> found(stretches.size());
        const auto look = [&](std::size_t s, std::uint64_t begin, std::uint64_t end) {
            std::uint32_t positions[checked_lists<Score>::block];
            const auto ids = lists_.view(stretches[s].list).ids.subspan(begin, end - begin);
            const std::size_t count = filter.find(ids, positions);
            for (std::size_t j = 0; j < count; ++j) found[s].push_back(begin + positions[j]);
            return true;
        };
        if (fresh) {
            lists_.read(stretches, look);
        } else {
            lists_.visit(stretches, look);
        }
        for (std::size_t s = 0; s < stretches.size(); ++s) {
            const auto& [list, begin, end] = stretches[s];
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
    std::uint64_t most_rows_ = 0, marked_ = 0;
    std::optional<object_planes> planes_;
    cpu_array<std::uint64_t> chosen_;      ///< a bit an object
    std::vector<std::uint32_t> open_;      ///< rows whose score is not known
    std::vector<scored_object> settled_;   ///< the others, of those that can be among the best
    std::vector<double> upper_;            ///< what the open ones have at most, and the settled ones
    std::optional<scored_object> needed_;  ///< what follows it is not among the best
};

}  // namespace

template <class Score>
automatic_answer automatic(cpu_place& place, const scoring& rule,
                           std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                           std::uint32_t k, const reading_costs& costs) {
    checked_lists<Score> read(place, rule, lists, objects);
    if (auto found = early_stop<Score>(read, k, costs).found()) return std::move(*found);
    return read_everything(read, k, costs);
}
template automatic_answer automatic(cpu_place&, const scoring&, std::span<const ranked_list_view<float>>,
                                    std::uint32_t, std::uint32_t, const reading_costs&);
template automatic_answer automatic(cpu_place&, const scoring&, std::span<const ranked_list_view<double>>,
                                    std::uint32_t, std::uint32_t, const reading_costs&);

}  // namespace quern::top_k_detail
