// SPDX-License-Identifier: Apache-2.0
#include "ops/rank_aggregation/checked_lists.hpp"

#include <cmath>
#include <string>

#include "ops/rank_aggregation/list_kernels.hpp"
#include "quern/base/error.hpp"

namespace quern::rank_aggregation_detail {

template <class Score>
checked_lists<Score>::checked_lists(cpu_place& place, const scoring& rule,
                                    std::span<const ranked_list_view<Score>> lists, std::uint32_t objects)
    : place_(place), rule_(rule), lists_(lists), objects_(objects), depths_(lists.size()) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
        check_list_sizes(i, lists[i].ids.size(), lists[i].scores.size());
        longest_ = std::max<std::uint64_t>(longest_, lists[i].ids.size());
        entries_ += lists[i].ids.size();
    }
}

template <class Score>
bool checked_lists<Score>::all_ended() const {
    for (std::size_t i = 0; i < lists_.size(); ++i)
        if (!ended(i)) return false;
    return true;
}

template <class Score>
double checked_lists<Score>::bound(std::size_t list, std::uint64_t depth) const {
    if (depth >= size(list) && (depth > 0 || size(list) == 0)) return rule_.floor_value(list);
    return value(list, depth == 0 ? 0 : depth - 1);
}

template <class Score>
void checked_lists<Score>::add_pieces(std::size_t list, std::uint64_t begin, std::uint64_t end,
                                      std::vector<list_range>& to) const {
    constexpr std::uint64_t least = std::uint64_t{1} << 16;
    const std::size_t pieces = pieces_for(place_, end - begin, least);
    for (std::size_t p = 0; p < pieces; ++p) {
        const item_range piece = piece_of(end - begin, pieces, p);
        to.push_back({list, begin + piece.begin, begin + piece.end});
    }
}

template <class Score>
std::vector<list_range> checked_lists<Score>::below(std::uint64_t depth, bool cut) const {
    std::vector<list_range> all;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
        const std::uint64_t begin = depths_[i], end = std::min(depth, size(i));
        if (begin >= end) continue;
        if (cut) {
            add_pieces(i, begin, end, all);
        } else {
            all.push_back({i, begin, end});
        }
    }
    return all;
}

template <class Score>
std::vector<list_range> checked_lists<Score>::read_so_far() const {
    std::vector<list_range> all;
    for (std::size_t i = 0; i < lists_.size(); ++i) add_pieces(i, 0, depths_[i], all);
    return all;
}

template <class Score>
std::vector<list_range> checked_lists<Score>::whole() const {
    std::vector<list_range> all;
    for (std::size_t i = 0; i < lists_.size(); ++i) all.push_back({i, 0, size(i)});
    return all;
}

template <class Score>
bool checked_lists<Score>::is_good(std::size_t list, std::uint64_t begin, std::uint64_t end) const {
    const Score* const scores = lists_[list].scores.data();
    // Descending scores are finite and above the floor if the first and the last are.
    const bool ends =
        std::isfinite(value(list, begin)) && std::isfinite(value(list, end - 1)) &&
        std::isfinite(scores[begin]) && std::isfinite(scores[end - 1]) &&
        (rule_.rule() == aggregate::rrf || static_cast<double>(scores[end - 1]) >= rule_.rules()[list].floor);
    const std::uint64_t before = begin == 0 ? 0 : begin - 1;
    return ends && falls(lists_[list].scores.subspan(before, end - before)) &&
           greatest_id(lists_[list].ids.subspan(begin, end - begin)) < objects_;
}

template <class Score>
bool checked_lists<Score>::has_one_twice(std::size_t list) const {
    std::vector<bool> seen(objects_);
    for (const std::uint32_t id : lists_[list].ids) {
        if (seen[id]) return true;
        seen[id] = true;
    }
    return false;
}

/// Checks one by one: this list has a fault.
template <class Score>
void checked_lists<Score>::refuse(std::size_t list, std::uint64_t end) const {
    const auto& [ids, scores, weight, floor] = lists_[list];
    std::vector<std::uint64_t> seen((std::size_t{objects_} + 63) / 64);
    for (std::uint64_t at = 0; at < end; ++at) {
        const double score = static_cast<double>(scores[at]);
        const auto because = [&](const char* reason) { throw list_fault(list, at, reason); };
        if (!std::isfinite(score)) because("the score is not a finite number");
        if (ids[at] >= objects_) because("the id is out of range");
        if (at != 0 && scores[at] > scores[at - 1]) because("the score is greater than the previous one");
        if (rule_.rule() != aggregate::rrf && score < floor)
            because("the score is below the floor of the list");
        const std::uint64_t bit = std::uint64_t{1} << (ids[at] % 64);
        if ((seen[ids[at] / 64] & bit) != 0) because("the id occurs twice in the list");
        seen[ids[at] / 64] |= bit;
        if (!std::isfinite(value(list, at)))
            because("the score times the weight of the list is not a finite number");
    }
    throw list_fault(list, end, "the list changed while it was read");  // changed while it was read
}

template class checked_lists<float>;
template class checked_lists<double>;

}  // namespace quern::rank_aggregation_detail
