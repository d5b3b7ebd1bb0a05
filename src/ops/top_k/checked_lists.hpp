// SPDX-License-Identifier: Apache-2.0
// Lists in memory, read from the top down a stretch at a time and checked as they are read. Scores fall, so what an object
// counts at most below any depth is known without reading down to it; it is true as far as the list is as it should be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/place.hpp"
#include "ops/top_k/lists.hpp"

namespace quern::top_k_detail {

/// Entries of one list.
struct list_stretch {
    std::size_t list;
    std::uint64_t begin, end;
};

template <class Score>
class checked_lists {
  public:
    static constexpr std::uint64_t block = 4096;  ///< entries that stay in the first cache

    /// Throws usage_error where a list has not as many ids as scores.
    checked_lists(cpu_place& place, const scoring& rule, std::span<const ranked_list_view<Score>> lists,
                  std::uint32_t objects);

    cpu_place& place() const { return place_; }
    const scoring& rule() const { return rule_; }
    std::uint32_t objects() const { return objects_; }
    std::size_t lists() const { return lists_.size(); }
    const ranked_list_view<Score>& view(std::size_t list) const { return lists_[list]; }
    std::uint64_t size(std::size_t list) const { return lists_[list].ids.size(); }
    std::uint64_t longest() const { return longest_; }
    std::uint64_t entries() const { return entries_; }
    std::uint64_t depth(std::size_t list) const { return depths_[list]; }
    const std::vector<std::uint64_t>& depths() const { return depths_; }
    std::uint64_t deepest() const { return *std::ranges::max_element(depths_); }
    bool ended(std::size_t list) const { return depths_[list] == size(list); }
    bool all_ended() const;

    double value(std::size_t list, std::uint64_t position) const {
        return rule_.value(list, static_cast<double>(lists_[list].scores[position]), position + 1);
    }
    /// What an object counts at most in the list that is not among its first `depth` entries.
    double bound(std::size_t list, std::uint64_t depth) const;

    /// What lies between the depths read and `depth`: a stretch a list, or several.
    std::vector<list_stretch> below(std::uint64_t depth, bool cut) const;
    /// What has been read, a list in several stretches.
    std::vector<list_stretch> read_so_far() const;
    /// The whole lists, read or not.
    std::vector<list_stretch> whole() const;

    /// Checks the stretches and gives them to take(number of the stretch, begin, end), in order and `block` entries at
    /// a time, several stretches at once. `take` returns false where an id has come twice. Throws list_fault: what is
    /// wrong first in the first list where something is. The depths read are those of the stretches then.
    template <class Take>
    void read(std::span<const list_stretch> stretches, const Take& take);
    /// The same of what has been read: nothing is checked.
    template <class Take>
    void visit(std::span<const list_stretch> stretches, const Take& take) const;
    /// Whether some id stands in the list twice. Ids are in range.
    bool has_one_twice(std::size_t list) const;
    /// Throws what is wrong first in the list, of its entries before `end`.
    [[noreturn]] void refuse(std::size_t list, std::uint64_t end) const;

  private:
    static constexpr std::uint64_t few_entries = 8 * block;      ///< too few to wake threads for
    static constexpr std::uint64_t between_stops = 512 * block;  ///< looks at whether the run was stopped

    template <class Work>
    void for_each_stretch(std::span<const list_stretch> stretches, const Work& work) const {
        std::uint64_t entries = 0;
        for (const list_stretch& one : stretches) entries += one.end - one.begin;
        if (entries > few_entries) return for_each_piece(place_, stretches.size(), work);
        for (std::size_t s = 0; s < stretches.size(); ++s) work(s);
    }
    void add_pieces(std::size_t list, std::uint64_t begin, std::uint64_t end,
                    std::vector<list_stretch>& to) const;
    bool is_good(std::size_t list, std::uint64_t begin, std::uint64_t end) const;

    cpu_place& place_;
    const scoring& rule_;
    std::span<const ranked_list_view<Score>> lists_;
    std::uint32_t objects_;
    std::uint64_t longest_ = 0, entries_ = 0;
    std::vector<std::uint64_t> depths_;
};

template <class Score>
template <class Take>
void checked_lists<Score>::visit(std::span<const list_stretch> stretches, const Take& take) const {
    for_each_stretch(stretches, [&](std::size_t s) {
        place_.run().check_stop();
        for (std::uint64_t begin = stretches[s].begin; begin < stretches[s].end; begin += block)
            (void)take(s, begin, std::min(stretches[s].end, begin + block));
    });
}

template <class Score>
template <class Take>
void checked_lists<Score>::read(std::span<const list_stretch> stretches, const Take& take) {
    std::vector<std::uint8_t> bad(stretches.size(), 0);
    for_each_stretch(stretches, [&](std::size_t s) {
        const auto& [list, first, last] = stretches[s];
        for (std::uint64_t begin = first; begin < last && bad[s] == 0; begin += block) {
            if ((begin - first) % between_stops == 0) place_.run().check_stop();
            const std::uint64_t end = std::min(last, begin + block);
            bad[s] = is_good(list, begin, end) && take(s, begin, end) ? 0 : 1;
        }
    });
    std::size_t first_bad = lists_.size();
    std::uint64_t end = 0;
    for (std::size_t s = 0; s < stretches.size(); ++s) {
        if (bad[s] == 0 || stretches[s].list > first_bad) continue;
        first_bad = stretches[s].list;
        end = std::max(end, stretches[s].end);
    }
    if (first_bad < lists_.size()) refuse(first_bad, end);
    for (const list_stretch& one : stretches) depths_[one.list] = std::max(depths_[one.list], one.end);
}

}  // namespace quern::top_k_detail
