// SPDX-License-Identifier: Apache-2.0
// Lists in memory, read in three strokes.
//
// 1. All lists are marked to the depth where k objects are in every one of them. Their values are fetched: the k-th best of
//    their scores, s, is a lower bound of the k-th best score.
// 2. Which depth makes all objects that lack two lists or more worthless can be computed: they have at most the first value of
//    the lists that hold them, and the last value of the others. Objects never seen have less. The lists are marked to there.
// 3. What is left is the objects that lack one list at most: few. Their values are fetched; those whose upper bound precedes s
//    are looked for further down, all others are passed over with one bit looked at, until none is open.
//
// Where 1 or 2 come to much of the lists (scores that contradict each other), stopping early cannot pay, and everything is read:
// value by value into an array of sums, then selected.
#include "ops/top_k/automatic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "ops/top_k/prefixes.hpp"

namespace quern::top_k_detail {
namespace {

/// Beyond this part of the lists, reading on for early stopping costs more than reading everything at once.
constexpr double worth_reading = 0.35;

/// Rows for the objects of a bitmap, in their order.
class numbered_objects {
  public:
    explicit numbered_objects(bitmap objects) : objects_(objects), before_(objects.size() + 1) {
        for (std::size_t w = 0; w < objects.size(); ++w)
            before_[w + 1] = before_[w] + static_cast<std::uint32_t>(std::popcount(objects[w]));
    }
    std::uint32_t size() const { return before_.back(); }
    std::uint32_t row(std::uint32_t id) const {
        const std::uint64_t below = (std::uint64_t{1} << (id % 64)) - 1;
        return before_[id / 64] + static_cast<std::uint32_t>(std::popcount(objects_[id / 64] & below));
    }
    std::vector<std::uint32_t> ids() const {
        std::vector<std::uint32_t> all;
        all.reserve(size());
        for (std::size_t w = 0; w < objects_.size(); ++w)
            for (std::uint64_t left = objects_[w]; left != 0; left &= left - 1)
                all.push_back(static_cast<std::uint32_t>(64 * w) +
                              static_cast<std::uint32_t>(std::countr_zero(left)));
        return all;
    }

  private:
    bitmap objects_;
    std::vector<std::uint32_t> before_;
};

template <class Score>
class three_strokes {
  public:
    three_strokes(cpu_place& place, const scoring& rule, std::span<const ranked_list_view<Score>> lists,
                  std::uint32_t objects, std::uint32_t k)
        : place_(place),
          rule_(rule),
          read_(place, rule, lists, objects),
          chosen_(read_.words()),
          objects_(objects),
          k_(k),
          limit_(static_cast<std::uint64_t>(worth_reading * static_cast<double>(read_.longest()))),
          best_(k) {}

    automatic_answer answer() {
        if (!stop_early()) return read_everything(place_, rule_, read_, objects_, k_);
        return {{best_.sorted(), ids_.size()}, {read_.depths().begin(), read_.depths().end()}};
    }

  private:
    /// False where reading everything is the better way.
    bool stop_early() {
        if (!mark_until_k_are_complete()) return false;
        const auto begin = std::vector<std::uint64_t>(read_.lists());
        fetch(begin);
        if (read_.all_ended()) return true;
        const std::optional<std::uint64_t> depth = depth_without_two();
        if (!depth || *depth > limit_) return false;
        read_.read_to(*depth);
        read_.objects_lacking(1, chosen_);
        fetch(begin);
        close_open_objects();
        return true;
    }

    bool mark_until_k_are_complete() {
        const auto lists = static_cast<double>(read_.lists());
        // Of independent lists of all objects a share p^lists is complete at the share p.
        const double share =
            std::pow(static_cast<double>(k_) / std::max(1.0, static_cast<double>(objects_)), 1 / lists);
        auto depth = static_cast<std::uint64_t>(0.95 * share * static_cast<double>(read_.longest()));
        depth = std::clamp<std::uint64_t>(depth / 8, k_, std::max<std::uint64_t>(k_, limit_));
        for (;;) {
            read_.read_to(depth);
            const std::uint64_t complete = read_.objects_lacking(0, chosen_);
            if (complete >= k_ || read_.all_ended()) return true;
            if (depth >= limit_ && limit_ < read_.longest() && read_.longest() > small_list) return false;
            const double grow =
                std::pow(static_cast<double>(k_) / std::max(1.0, static_cast<double>(complete)), 1 / lists);
            depth = 1 + static_cast<std::uint64_t>(static_cast<double>(depth) *
                                                   std::clamp(1.02 * grow, 1.05, 2.0));
            if (read_.longest() > small_list)
                depth = std::min(depth, std::max(limit_, k_ + std::uint64_t{1}));
        }
    }

    /// The values of the chosen objects; what is complete goes to the best.
    void fetch(std::span<const std::uint64_t> begin) {
        const numbered_objects numbers(chosen_);
        ids_ = numbers.ids();
        const std::size_t lists = read_.lists();
        values_.assign(ids_.size() * lists, 0);
        seen_.assign(ids_.size() * lists, 0);
        read_.visit(begin, chosen_, [&](std::uint32_t id, double value, std::size_t list) {
            const std::size_t at = numbers.row(id) * lists + list;
            values_[at] = value;
            seen_[at] = 1;
        });
        best_ = best_objects(k_);
        open_.clear();
        for (std::uint32_t row = 0; row < ids_.size(); ++row) settle(row);
    }

    /// A row whose lists were read goes to the best or to those that are open.
    void settle(std::uint32_t row) {
        bool complete = true;
        for (std::size_t i = 0; i < read_.lists(); ++i)
            complete &= seen_[row * read_.lists() + i] != 0 || read_.ended(i);
        if (complete) {
            best_.offer({bound_of(row), ids_[row]});
        } else {
            open_.push_back(row);
        }
    }

    /// The score, or where a list is lacking the upper bound.
    double bound_of(std::uint32_t row) const {
        score_sum sum(rule_.rule());
        for (std::size_t i = 0; i < read_.lists(); ++i) {
            const std::size_t at = row * read_.lists() + i;
            sum.take(seen_[at] != 0 ? values_[at] : read_.bound(i, read_.depth(i)));
        }
        return sum.score(rule_.weights());
    }

    /// The least depth at which no object that lacks two lists, and none that was never seen, can reach the k-th best known.
    std::optional<std::uint64_t> depth_without_two() const {
        const double needed = best_.last().score;
        const auto reaches = [&](std::uint64_t depth, std::size_t a, std::size_t b) {
            score_sum sum(rule_.rule());
            for (std::size_t i = 0; i < read_.lists(); ++i)
                sum.take(i == a || i == b ? read_.bound(i, depth) : read_.greatest(i));
            return sum.score(rule_.weights()) >= needed;
        };
        const std::size_t lists = read_.lists();
        const auto any_reaches = [&](std::uint64_t depth) {
            if (lists == 1) return reaches(depth, 0, 0);
            for (std::size_t a = 0; a + 1 < lists; ++a)
                for (std::size_t b = a + 1; b < lists; ++b)
                    if (reaches(depth, a, b)) return true;
            return false;
        };
        std::uint64_t low = 0, high = read_.longest();
        for (std::size_t i = 0; i < lists; ++i) low = std::max(low, read_.depth(i));
        if (any_reaches(high)) return std::nullopt;
        while (low < high) {
            const std::uint64_t middle = low + (high - low) / 2;
            if (any_reaches(middle))
                low = middle + 1;
            else
                high = middle;
        }
        return high;
    }

    void close_open_objects() {
        const std::size_t lists = read_.lists();
        for (;;) {
            const bool full = best_.full();
            std::erase_if(open_, [&](std::uint32_t row) {
                return full && !precedes({bound_of(row), ids_[row]}, best_.last());
            });
            if (open_.empty() || read_.all_ended()) break;
            std::ranges::fill(chosen_, 0);
            for (const std::uint32_t row : open_)
                chosen_[ids_[row] / 64] |= std::uint64_t{1} << (ids_[row] % 64);
            std::vector<std::uint64_t> begin(read_.depths().begin(), read_.depths().end());
            const std::uint64_t deepest = *std::ranges::max_element(begin);
            read_.read_to(deepest + 64 + deepest / 24);
            // Rows by id, of the open ones: they are few, and in the order of their ids.
            read_.visit(begin, chosen_, [&](std::uint32_t id, double value, std::size_t list) {
                const auto row = static_cast<std::size_t>(std::ranges::lower_bound(ids_, id) - ids_.begin());
                values_[row * lists + list] = value;
                seen_[row * lists + list] = 1;
            });
            std::vector<std::uint32_t> rows;
            rows.swap(open_);
            for (const std::uint32_t row : rows) settle(row);
        }
    }

    static constexpr std::uint64_t small_list = 4096;  ///< below this, reading on is never a loss

    cpu_place& place_;
    const scoring& rule_;
    list_prefixes<Score> read_;
    std::vector<std::uint64_t> chosen_;
    std::uint32_t objects_, k_;
    std::uint64_t limit_;
    std::vector<std::uint32_t> ids_;  ///< of the rows, rising
    std::vector<double> values_;      ///< one a row and list
    std::vector<std::uint8_t> seen_;  ///< the same
    std::vector<std::uint32_t> open_;
    best_objects best_;
};

}  // namespace

template <class Score>
automatic_answer automatic(cpu_place& place, const scoring& rule,
                           std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                           std::uint32_t k) {
    return three_strokes<Score>(place, rule, lists, objects, k).answer();
}
template automatic_answer automatic(cpu_place&, const scoring&, std::span<const ranked_list_view<float>>,
                                    std::uint32_t, std::uint32_t);
template automatic_answer automatic(cpu_place&, const scoring&, std::span<const ranked_list_view<double>>,
                                    std::uint32_t, std::uint32_t);

}  // namespace quern::top_k_detail
