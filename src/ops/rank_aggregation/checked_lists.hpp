// SPDX-License-Identifier: Apache-2.0
// Lists in memory, read from the top down one range at a time and checked as they are read. Scores fall, so the maximum
// that an object counts below any depth is known without reading down to it; this holds as far as the list is valid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/place.hpp"
#include "ops/rank_aggregation/lists.hpp"

namespace quern::rank_aggregation_detail {

/// Entries of one list.
struct list_range {
    std::size_t list;
    std::uint64_t begin, end;
};

template <class Score>
class checked_lists {
  public:
    static constexpr std::uint64_t block = 4096;  ///< entries that stay in the first-level cache

    /// Throws usage_error if a list has different numbers of ids and scores.
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
    /// The maximum that an object counts in the list if it is not among its first `depth` entries.
    double bound(std::size_t list, std::uint64_t depth) const;

    /// The entries between the depths read and `depth`: one range per list, or several.
    std::vector<list_range> below(std::uint64_t depth, bool cut) const;
    /// The entries read so far, in several ranges per list.
    std::vector<list_range> read_so_far() const;
    /// The whole lists, read or not.
    std::vector<list_range> whole() const;

    /// Checks the ranges and passes them to sink(number of the range, begin, end), in order and `block` entries at a time,
    /// several ranges in parallel. `sink` returns false if an id occurs twice. Throws list_fault for the first fault in the
    /// first faulty list. The depths read become those of the ranges.
    template <class Sink>
    void read(std::span<const list_range> ranges, const Sink& sink);
    /// The same for entries already read, without checks.
    template <class Sink>
    void visit(std::span<const list_range> ranges, const Sink& sink) const;
    /// Whether some id occurs twice in the list. Ids are in range.
    bool has_one_twice(std::size_t list) const;
    /// Throws the first fault in the list among its entries before `end`.
    [[noreturn]] void refuse(std::size_t list, std::uint64_t end) const;

  private:
    static constexpr std::uint64_t few_entries = 8 * block;      ///< too few to wake threads
    static constexpr std::uint64_t between_stops = 512 * block;  ///< interval of checks for interruption

    template <class Work>
    void for_each_range(std::span<const list_range> ranges, const Work& work) const {
        std::uint64_t entries = 0;
        for (const list_range& one : ranges) entries += one.end - one.begin;
        if (entries > few_entries) return for_each_piece(place_, ranges.size(), work);
        for (std::size_t s = 0; s < ranges.size(); ++s) work(s);
    }
    void add_pieces(std::size_t list, std::uint64_t begin, std::uint64_t end,
                    std::vector<list_range>& to) const;
    bool is_good(std::size_t list, std::uint64_t begin, std::uint64_t end) const;

    cpu_place& place_;
    const scoring& rule_;
    std::span<const ranked_list_view<Score>> lists_;
    std::uint32_t objects_;
    std::uint64_t longest_ = 0, entries_ = 0;
    std::vector<std::uint64_t> depths_;
};

template <class Score>
template <class Sink>
void checked_lists<Score>::visit(std::span<const list_range> ranges, const Sink& sink) const {
    for_each_range(ranges, [&](std::size_t s) {
        place_.ctx().check_stop();
        for (std::uint64_t begin = ranges[s].begin; begin < ranges[s].end; begin += block)
            (void)sink(s, begin, std::min(ranges[s].end, begin + block));
    });
}

template <class Score>
template <class Sink>
void checked_lists<Score>::read(std::span<const list_range> ranges, const Sink& sink) {
    std::vector<std::uint8_t> bad(ranges.size(), 0);
    for_each_range(ranges, [&](std::size_t s) {
        const auto& [list, first, last] = ranges[s];
        for (std::uint64_t begin = first; begin < last && bad[s] == 0; begin += block) {
            if ((begin - first) % between_stops == 0) place_.ctx().check_stop();
            const std::uint64_t end = std::min(last, begin + block);
            bad[s] = is_good(list, begin, end) && sink(s, begin, end) ? 0 : 1;
        }
    });
    std::size_t first_bad = lists_.size();
    std::uint64_t end = 0;
    for (std::size_t s = 0; s < ranges.size(); ++s) {
        if (bad[s] == 0 || ranges[s].list > first_bad) continue;
        first_bad = ranges[s].list;
        end = std::max(end, ranges[s].end);
    }
    if (first_bad < lists_.size()) refuse(first_bad, end);
    for (const list_range& one : ranges) depths_[one.list] = std::max(depths_[one.list], one.end);
}

}  // namespace quern::rank_aggregation_detail
