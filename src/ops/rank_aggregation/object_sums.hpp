// SPDX-License-Identifier: Apache-2.0
// The sums of objects with consecutive ids, list by list in their order, according to the rule.
//
// One bit per object says that the current list contains it: 8 KiB for 2^16 objects, in the second-level cache with their
// sums. If there are fewer bits than entries, an id occurred twice.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "ops/rank_aggregation/candidates.hpp"
#include "ops/rank_aggregation/lists.hpp"

namespace quern::rank_aggregation_detail {

// ---- Rules ----

struct added {
    static constexpr double start = 0;
    static double of(double score, double value) { return score + value; }
};
struct multiplied {
    static constexpr double start = 1;
    static double of(double score, double value) { return product(score, value); }
};
struct least {
    static constexpr double start = std::numeric_limits<double>::infinity();
    static double of(double score, double value) { return value < score ? value : score; }
};
struct greatest {
    static constexpr double start = -std::numeric_limits<double>::infinity();
    static double of(double score, double value) { return value > score ? value : score; }
};

// ---- Sums ----

/// Words of bits for that many objects.
constexpr std::size_t words_of_sums(std::size_t objects) {
    return (objects + 63) / 64;
}

template <class Combination>
class object_sums {
  public:
    /// `seen`, `listed`: words_of_sums(scores.size()) each.
    object_sums(const scoring& rule, std::span<double> scores, std::span<std::uint64_t> seen,
                std::span<std::uint64_t> listed)
        : rule_(rule), scores_(scores), seen_(seen), listed_(listed) {
        std::ranges::fill(scores_, Combination::start);
        std::ranges::fill(seen_, std::uint64_t{0});
        std::ranges::fill(listed_, std::uint64_t{0});
    }

    /// Entries of one list, j: local[j], value_at(j).
    template <class Id, class Value>
    void add(std::span<const Id> local, const Value value_at) {
        constexpr std::size_t ahead = 24;  // prefetch distance of sums, in entries
        double* const scores = scores_.data();
        std::uint64_t* const listed = listed_.data();
        const std::size_t size = local.size();
        const auto add_one = [&](std::size_t j) {
            const Id id = local[j];
            listed[id / 64] |= std::uint64_t{1} << (id % 64);
            scores[id] = Combination::of(scores[id], value_at(j));
        };
        std::size_t j = 0;
        if constexpr (sizeof(Id) > 2) {  // maybe larger than a cache
            for (; j + ahead < size; ++j) {
                __builtin_prefetch(scores + local[j + ahead], 1);
                add_one(j);
            }
        }
        for (; j < size; ++j) add_one(j);
    }

    /// Call it after all `entries` of the list: its floor counts for objects not in it. False if an object occurred twice.
    bool end_list(std::size_t list, std::uint64_t entries) {
        std::uint64_t objects = 0;
        for (std::size_t w = 0; w < listed_.size(); ++w) {
            objects += static_cast<std::uint64_t>(std::popcount(listed_[w]));
            seen_[w] |= listed_[w];
        }
        if (objects < scores_.size()) add_floor(rule_.floor_value(list));
        std::ranges::fill(listed_, std::uint64_t{0});
        return objects == entries;
    }

    /// Offers the objects that are in some list. Object 0 has the id `first_id`, and `best` has no higher id.
    void offer(best_objects& best, std::uint32_t first_id) const {
        if (rule_.rule() == aggregate::mean)
            return offer(best, first_id, [weights = rule_.weights()](double sum) { return sum / weights; });
        offer(best, first_id, [](double sum) { return sum; });
    }

  private:
    template <class ScoreOf>
    void offer(best_objects& best, std::uint32_t first_id, const ScoreOf score_of) const {
        // Ids ascend, so an object that only equals the last of k comes after it. With fewer than k, nothing is known to be
        // below.
        double last = best.full() ? best.last().score : std::numeric_limits<double>::quiet_NaN();
        for (std::size_t w = 0; w < seen_.size(); ++w) {
            const std::span<const double> sums = scores_.subspan(64 * w).first(objects_of(w));
            unsigned above = 0;  // without a branch, so that several are compared at a time
            for (const double sum : sums) above |= score_of(sum) <= last ? 0u : 1u;
            if (above == 0) continue;
            for (std::uint64_t left = seen_[w]; left != 0; left &= left - 1) {
                const auto j = static_cast<unsigned>(std::countr_zero(left));
                const double score = score_of(sums[j]);
                if (score <= last) continue;
                best.offer({score + 0.0, first_id + static_cast<std::uint32_t>(64 * w + j)});
                if (best.full()) last = best.last().score;
            }
        }
    }
    /// The objects of a word of bits.
    std::size_t objects_of(std::size_t word) const {
        return std::min<std::size_t>(64, scores_.size() - 64 * word);
    }
    void add_floor(double floor) {
        if (std::is_same_v<Combination, added> && floor == 0) return;
        for (std::size_t w = 0; w < listed_.size(); ++w) {
            for (std::uint64_t left = ~listed_[w] & ~std::uint64_t{0} >> (64 - objects_of(w)); left != 0;
                 left &= left - 1) {
                double& score = scores_[64 * w + static_cast<std::size_t>(std::countr_zero(left))];
                score = Combination::of(score, floor);
            }
        }
    }

    const scoring& rule_;
    std::span<double> scores_;
    std::span<std::uint64_t> seen_, listed_;
};

}  // namespace quern::rank_aggregation_detail
