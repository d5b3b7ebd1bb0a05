// SPDX-License-Identifier: Apache-2.0
#include "ops/top_k/prefixes.hpp"

#include <bit>
#include <cmath>
#include <string>

#include "quern/base/error.hpp"

namespace quern::top_k_detail {

template <class Score>
list_prefixes<Score>::list_prefixes(cpu_place& place, const scoring& rule,
                                    std::span<const ranked_list_view<Score>> lists, std::uint32_t objects)
    : place_(place),
      rule_(rule),
      lists_(lists),
      objects_(objects),
      words_((std::size_t{objects} + 63) / 64),
      depths_(lists.size()),
      planes_(place, words_ * lists.size(), "the marks of objects") {
    std::ranges::fill(planes_.span(), 0);
    for (std::size_t i = 0; i < lists.size(); ++i) {
        if (lists[i].ids.size() != lists[i].scores.size()) {
            throw usage_error("list " + std::to_string(i + 1) + " has " +
                              std::to_string(lists[i].ids.size()) + " ids, but " +
                              std::to_string(lists[i].scores.size()) + " scores");
        }
        longest_ = std::max<std::uint64_t>(longest_, lists[i].ids.size());
        entries_ += lists[i].ids.size();
    }
}

template <class Score>
bool list_prefixes<Score>::all_ended() const {
    for (std::size_t i = 0; i < lists_.size(); ++i)
        if (!ended(i)) return false;
    return true;
}

template <class Score>
double list_prefixes<Score>::bound(std::size_t list, std::uint64_t depth) const {
    if (depth == 0) return greatest(list);
    if (depth >= lists_[list].ids.size()) return rule_.floor_value(list);
    return rule_.value(list, static_cast<double>(lists_[list].scores[depth - 1]), depth);
}

template <class Score>
double list_prefixes<Score>::greatest(std::size_t list) const {
    if (lists_[list].ids.empty()) return rule_.floor_value(list);
    return rule_.value(list, static_cast<double>(lists_[list].scores[0]), 1);
}

/// What is wrong first, looked for one by one.
template <class Score>
void list_prefixes<Score>::refuse_first(std::size_t list, std::uint64_t from, std::uint64_t to) const {
    const auto& [ids, scores, weight, floor] = lists_[list];
    std::vector<std::uint64_t> seen(words_);
    for (std::uint64_t at = 0; at < to; ++at) {
        const double score = static_cast<double>(scores[at]);
        const auto refuse = [&](const char* reason) { throw list_fault(list, at, reason); };
        if (!std::isfinite(score)) refuse("the score is not a finite number");
        if (ids[at] >= objects_) refuse("the id is out of range");
        if (at != 0 && scores[at] > scores[at - 1]) refuse("the score is greater than the one before it");
        if (rule_.rule() != aggregate::rrf && score < floor)
            refuse("the score is below the floor of the list");
        const std::uint64_t bit = std::uint64_t{1} << (ids[at] % 64);
        if ((seen[ids[at] / 64] & bit) != 0) refuse("the id is in the list twice");
        seen[ids[at] / 64] |= bit;
        if (!std::isfinite(rule_.value(list, score, at + 1)))
            refuse("the score times the weight of the list is not a finite number");
    }
    throw list_fault(list, from, "the list is not as it was");  // changed while it was read
}

template <class Score>
void list_prefixes<Score>::read(std::size_t list, std::uint64_t from, std::uint64_t to) {
    const std::uint32_t* const ids = lists_[list].ids.data();
    const Score* const scores = lists_[list].scores.data();
    // Scores that fall are finite and above the floor if the first and the last are.
    bool good =
        from == to || (std::isfinite(rule_.value(list, static_cast<double>(scores[from]), from + 1)) &&
                       std::isfinite(rule_.value(list, static_cast<double>(scores[to - 1]), to)) &&
                       std::isfinite(scores[from]) && std::isfinite(scores[to - 1]) &&
                       (rule_.rule() == aggregate::rrf ||
                        static_cast<double>(scores[to - 1]) >= rule_.rules()[list].floor));
    bool falls = true;
    for (std::uint64_t at = std::max<std::uint64_t>(from, 1); at < to; ++at)
        falls &= scores[at] <= scores[at - 1];
    std::uint32_t greatest = 0;
    for (std::uint64_t at = from; at < to; ++at) greatest = std::max(greatest, ids[at]);
    good = good && falls && (from == to || greatest < objects_);
    if (!good) refuse_first(list, from, to);
    std::uint64_t* const plane = planes_.data() + list * words_;
    std::uint64_t twice = 0;
    for (std::uint64_t at = from; at < to; ++at) {
        const std::uint64_t bit = std::uint64_t{1} << (ids[at] % 64);
        std::uint64_t& word = plane[ids[at] / 64];
        twice |= word & bit;
        word |= bit;
    }
    if (twice != 0) refuse_first(list, from, to);
}

template <class Score>
void list_prefixes<Score>::read_to(std::uint64_t depth) {
    place_.run().check_stop();
    for_each_piece(place_, lists_.size(), [&](std::size_t list) {
        const std::uint64_t to = std::min<std::uint64_t>(depth, lists_[list].ids.size());
        if (to > depths_[list]) read(list, depths_[list], to);
    });
    for (std::size_t i = 0; i < lists_.size(); ++i)
        depths_[i] = std::max(depths_[i], std::min<std::uint64_t>(depth, lists_[i].ids.size()));
}

template <class Score>
std::uint64_t list_prefixes<Score>::objects_lacking(unsigned lacking, bitmap objects) const {
    std::uint64_t count = 0;
    for (std::size_t w = 0; w < words_; ++w) {
        std::uint64_t some = 0, lacks_one = 0, lacks_two = 0;
        for (std::size_t i = 0; i < lists_.size(); ++i) {
            const std::uint64_t here = planes_.data()[i * words_ + w];
            some |= here;
            if (ended(i)) continue;
            lacks_two |= lacks_one & ~here;
            lacks_one |= ~here;
        }
        objects[w] = some & ~(lacking == 0 ? lacks_one : lacks_two);
        count += static_cast<std::uint64_t>(std::popcount(objects[w]));
    }
    return count;
}

template class list_prefixes<float>;
template class list_prefixes<double>;

}  // namespace quern::top_k_detail
