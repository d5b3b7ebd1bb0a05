// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/short_texts.hpp"

#include <algorithm>
#include <numeric>

#include "ops/near_duplicates/filter/pair_bounds.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// Old texts are read for a join, but not for a scan of few pairs.
constexpr std::uint32_t few_classes = 1000;
/// Of memory for each listed text, three times what it takes: the scan makes do with less.
constexpr std::uint64_t bytes_needed = 64;

}  // namespace

template <class Unit>
short_texts<Unit>::short_texts(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                               const text_classes& classes, const duplicate_scope& scope,
                               const decimal& threshold, const segment_choice& choice)
    : place_(place),
      texts_(texts),
      sketches_(sketches),
      classes_(classes),
      threshold_(threshold),
      choice_(choice) {
    choice_.for_links = wants_links(scope);
    const bool is_free = choice.by == segment_choice::way::cheapest;
    const auto lengths = classes.lengths();
    const std::uint64_t longest = lengths_near(threshold, choice.longest).longest;
    const auto count =
        static_cast<std::uint32_t>(std::ranges::upper_bound(lengths, longest) - lengths.begin());
    if (std::uint64_t{count} * count < choice.min_pairs && sketches.first_new() == 0) return;
    if (count > place.memory().left() / bytes_needed) return;
    columns_.emplace(place, sketches, classes, count);
    if (scope.within_new)
        new_plan_ = plan_segments(texts, sketches, columns_->list(), columns_->list(), true, threshold,
                                  choice_, place.ctx());
    if (sketches.first_new() != 0 && !(is_free && count < few_classes)) plan_old();
    if (old_plan_.end == 0 && new_plan_.end == 0) columns_.reset();
}

template <class Unit>
void short_texts<Unit>::plan_old() {
    if (!list_old()) return;
    old_plan_ = plan_segments(texts_, sketches_, columns_->list(), old_->list(), false, threshold_, choice_,
                              place_.ctx());
    if (old_plan_.end != 0) return;
    old_.reset();
    old_lengths_ = {};
}

/// The old texts without an earlier equal one that are short enough for a pair, by length. False if there is little memory for
/// them.
template <class Unit>
bool short_texts<Unit>::list_old() {
    const std::uint64_t longest = lengths_near(threshold_, choice_.longest).longest;
    std::vector<std::uint32_t> next(longest + 2);
    const auto for_each_short = [&](const auto& work) {
        for (std::uint32_t text = 0; text < sketches_.first_new(); ++text) {
            const text_sketch& sketch = sketches_[text];
            if (sketch.first_equal == text && sketch.length <= longest) work(text, sketch.length);
        }
    };
    for_each_short([&](std::uint32_t, std::uint32_t length) { ++next[length + std::size_t{1}]; });
    std::partial_sum(next.begin(), next.end(), next.begin());
    if (next.back() > place_.memory().left() / bytes_needed) return false;
    const cpu_array<std::uint32_t> order(place_, next.back(), "short texts");
    old_lengths_ = cpu_array<std::uint32_t>(place_, next.back(), "short texts");
    for_each_short([&](std::uint32_t text, std::uint32_t length) {
        old_lengths_.data()[next[length]] = length;
        order.data()[next[length]++] = text;
    });
    old_.emplace(place_, sketches_, order.span(), old_lengths_.span());
    return true;
}

template <class Unit>
void short_texts<Unit>::find_copies(std::vector<text_copy>& copies) const {
    const std::uint32_t old = sketches_.first_new();
    const texts_by_length columns = columns_->list();
    const auto lengths = columns.lengths.first(old_plan_.end);
    // Of one length, classes ascend by half of their hashes.
    const auto half = [&](std::uint32_t text) {
        return static_cast<std::uint32_t>(sketches_[text].hash >> 32);
    };
    const std::size_t pieces = pieces_for(place_, old, 4096, 16);
    std::vector<std::vector<text_copy>> of_piece(pieces);
    for_each_piece(place_, pieces, [&](std::size_t p) {
        place_.ctx().check_stop();
        const item_range mine = piece_of(old, pieces, p);
        for (auto text = static_cast<std::uint32_t>(mine.begin); text < mine.end; ++text) {
            const text_sketch& sketch = sketches_[text];
            if (sketch.first_equal != text) {
                of_piece[p].push_back({sketch.first_equal, text});
                continue;
            }
            const auto run = std::ranges::equal_range(lengths, sketch.length);
            const auto first = static_cast<std::size_t>(run.begin() - lengths.begin());
            const auto some = columns.texts.subspan(first, run.size());
            for (auto at = std::ranges::lower_bound(some, half(text), {}, half);
                 at != some.end() && half(*at) == half(text); ++at)
                if (sketches_.are_equal(text, *at)) of_piece[p].push_back({text, *at});
        }
    });
    for (const auto& some : of_piece) copies.insert(copies.end(), some.begin(), some.end());
}

template <class Unit>
void short_texts<Unit>::join_old(std::vector<text_copy>& copies, const found_pairs& found) {
    if (old_plan_.end == 0) return;
    find_copies(copies);
    const texts_by_length rows = old_->list();
    join_segments(place_, texts_, sketches_, columns_->list(), &rows, old_plan_, {}, choice_, found);
    old_.reset();
    old_lengths_ = {};
}

template <class Unit>
void short_texts<Unit>::join_new(std::span<const std::uint8_t> skipped, const found_pairs& found) {
    if (new_plan_.end != 0)
        join_segments(place_, texts_, sketches_, columns_->list(), nullptr, new_plan_, skipped, choice_,
                      found);
    columns_.reset();
}

template class short_texts<std::uint8_t>;
template class short_texts<std::uint32_t>;

}  // namespace quern::near_duplicates_detail
