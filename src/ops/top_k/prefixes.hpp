// SPDX-License-Identifier: Apache-2.0
// Lists in memory, read to a depth and marked: a bit for each object and list. A plane of ten million objects is 1.25 MB
// and stays in a core's cache, where a table of values would not; so marking costs about a nanosecond an entry, and values
// are fetched in a second pass for the few objects that matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/top_k/lists.hpp"

namespace quern::top_k_detail {

using bitmap = std::span<std::uint64_t>;

template <class Score>
class list_prefixes {
  public:
    list_prefixes(cpu_place& place, const scoring& rule, std::span<const ranked_list_view<Score>> lists,
                  std::uint32_t objects);

    std::size_t lists() const { return lists_.size(); }
    const ranked_list_view<Score>& view(std::size_t list) const { return lists_[list]; }
    std::uint64_t longest() const { return longest_; }
    std::uint64_t entries() const { return entries_; }
    std::uint64_t depth(std::size_t list) const { return depths_[list]; }
    std::span<const std::uint64_t> depths() const { return depths_; }
    bool ended(std::size_t list) const { return depths_[list] == lists_[list].ids.size(); }
    bool all_ended() const;
    std::size_t words() const { return words_; }

    /// Reads every list to this depth, marks what it holds, and checks it. Throws list_fault.
    void read_to(std::uint64_t depth);
    /// What an object counts at most in the list that is not among its first `depth` entries.
    double bound(std::size_t list, std::uint64_t depth) const;
    /// The greatest value of the list.
    double greatest(std::size_t list) const;

    /// Objects that lack at most `lacking` (0, 1) of the lists that have not ended, and are in some list; how many.
    std::uint64_t objects_lacking(unsigned lacking, bitmap objects) const;
    const std::uint64_t* plane(std::size_t list) const { return planes_.data() + list * words_; }

    /// take(id, value, list) for the entries from `begin` to the depth read whose object is in `objects`; the lists at
    /// once, on several threads.
    template <class Take>
    void visit(std::span<const std::uint64_t> begin, bitmap objects, const Take& take) const;

  private:
    void read(std::size_t list, std::uint64_t from, std::uint64_t to);
    [[noreturn]] void refuse_first(std::size_t list, std::uint64_t from, std::uint64_t to) const;

    cpu_place& place_;
    const scoring& rule_;
    std::span<const ranked_list_view<Score>> lists_;
    std::uint32_t objects_;
    std::size_t words_;
    std::uint64_t longest_ = 0, entries_ = 0;
    std::vector<std::uint64_t> depths_;
    cpu_array<std::uint64_t> planes_;
};

template <class Score>
template <class Take>
void list_prefixes<Score>::visit(std::span<const std::uint64_t> begin, bitmap objects,
                                 const Take& take) const {
    for_each_piece(place_, lists_.size(), [&](std::size_t list) {
        const std::uint32_t* const ids = lists_[list].ids.data();
        for (std::uint64_t at = begin[list]; at < depths_[list]; ++at) {
            const std::uint32_t id = ids[at];
            if ((objects[id / 64] >> (id % 64) & 1) == 0) continue;
            take(id, rule_.value(list, static_cast<double>(lists_[list].scores[at]), at + 1), list);
        }
    });
}

}  // namespace quern::top_k_detail
