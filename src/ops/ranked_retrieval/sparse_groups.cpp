// SPDX-License-Identifier: Apache-2.0
#include "ops/ranked_retrieval/sparse_groups.hpp"

#include <algorithm>
#include <bit>

#include "device/cpu/parallel.hpp"

namespace quern::ranked_retrieval_detail {
namespace {

template <part_kind Kind>
void set_alone(std::span<const float> lines, std::span<float> alone) {
    for (std::size_t i = 0; i < lines.size(); ++i) alone[i] = part<Kind>(0.0f, lines[i]);
}

}  // namespace

query_groups::query_groups(cpu_place& place, const sparse_tile<cpu_place>& queries, std::size_t first,
                           std::size_t count, vector_metric metric, std::uint32_t most_buckets)
    : queries_(rows_of(queries)), first_(first), count_(count) {
    const std::size_t groups = (count + group_queries - 1) / group_queries;
    while ((queries.dimensions - 1) >> shift_ >= most_buckets) ++shift_;
    words_ = ((queries.dimensions - 1) >> shift_) / 32 + 1;
    groups_.resize(groups);
    for (std::size_t g = 0; g <= groups; ++g) {
        const std::size_t query = first + std::min(count, g * group_queries);
        entries_before_.push_back(static_cast<std::size_t>(queries.offsets[query] - queries.offsets[first]));
    }
    const std::size_t entries = entries_before_.back();
    columns_ = {place, entries + groups, "columns of sparse queries"};
    firsts_ = {place, entries + groups, "columns of sparse queries"};
    present_ = {place, groups * words_, "columns of sparse queries"};
    before_ = {place, groups * words_, "columns of sparse queries"};
    for_each_piece(place, groups, [&](std::size_t g) { collect_columns(g); });

    slots_before_.push_back(0);
    for (const query_group& group : groups_) slots_before_.push_back(slots_before_.back() + group.slots);
    lines_ = {place, slots_before_.back() * group_queries, "sparse queries, laid out"};
    const bool needs_alone = part_of(metric) != part_kind::products;
    if (needs_alone) alone_ = {place, lines_.size(), "sparse queries, laid out"};
    for_each_piece(place, groups, [&](std::size_t g) {
        lay_out(g);
        if (!needs_alone) return;
        const std::size_t begin = slots_before_[g] * group_queries, size = groups_[g].slots * group_queries;
        with_part_kind(metric, [&](auto kind) {
            set_alone<kind>(lines_.span().subspan(begin, size), alone_.span().subspan(begin, size));
        });
        groups_[g].alone = alone_.data() + begin;
    });
    if (metric != vector_metric::cosine) return;
    squares_ = {place, groups * group_queries, "lengths of sparse queries"};
    std::fill_n(squares_.data(), squares_.size(), 0.0);
    std::copy_n(queries.squares.data() + first, count, squares_.data());
    for (std::size_t g = 0; g < groups; ++g) groups_[g].squares = squares_.data() + g * group_queries;
}

/// The group's columns, each once, and the table of their buckets.
void query_groups::collect_columns(std::size_t g) {
    // A column behind each group's own, which no row has; so are `firsts` by one longer.
    std::uint32_t* const columns = columns_.data() + entries_before_[g] + g;
    std::uint32_t* const firsts = firsts_.data() + entries_before_[g] + g;
    std::uint32_t* end = columns;
    for (std::size_t q = g * group_queries; q < std::min(count_, (g + 1) * group_queries); ++q) {
        const sparse_row own = queries_[first_ + q];
        end = std::copy_n(own.columns, own.size, end);
    }
    std::sort(columns, end);
    end = std::unique(columns, end);
    *end = ~std::uint32_t{0};
    const auto slots = static_cast<std::size_t>(end - columns);

    std::uint32_t* const present = present_.data() + g * words_;
    std::uint32_t* const before = before_.data() + g * words_;
    std::fill_n(present, words_, 0u);
    std::size_t buckets = 0;
    for (std::size_t slot = 0; slot < slots; ++slot) {
        const std::uint32_t bucket = columns[slot] >> shift_;
        std::uint32_t& word = present[bucket / 32];
        const std::uint32_t bit = 1u << bucket % 32;
        if ((word & bit) == 0) firsts[buckets++] = static_cast<std::uint32_t>(slot);
        word |= bit;
    }
    firsts[buckets] = static_cast<std::uint32_t>(slots);
    std::uint32_t sum = 0;
    for (std::size_t w = 0; w < words_; ++w) {
        before[w] = sum;
        sum += static_cast<std::uint32_t>(std::popcount(present[w]));
    }
    groups_[g] = {.present = present,
                  .before = before,
                  .firsts = firsts,
                  .shift = shift_,
                  .columns = columns,
                  .slots = slots};
}

/// The lines of the group's columns.
void query_groups::lay_out(std::size_t g) {
    query_group& group = groups_[g];
    float* const lines = lines_.data() + slots_before_[g] * group_queries;
    std::fill_n(lines, group.slots * group_queries, 0.0f);
    for (std::size_t q = g * group_queries; q < std::min(count_, (g + 1) * group_queries); ++q) {
        const sparse_row own = queries_[first_ + q];
        const std::uint32_t* at = group.columns;
        for (std::uint64_t e = 0; e < own.size; ++e) {
            at = std::lower_bound(at, group.columns + group.slots, own.columns[e]);
            lines[static_cast<std::size_t>(at - group.columns) * group_queries + q % group_queries] =
                own.values[e];
        }
    }
    group.lines = lines;
}

}  // namespace quern::ranked_retrieval_detail
