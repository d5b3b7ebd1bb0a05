// SPDX-License-Identifier: Apache-2.0
#include "ops/nearest/sparse/sparse_kernels.hpp"

#include <algorithm>
#include <bit>

#include "device/cpu/parallel.hpp"

namespace quern::nearest_detail {
namespace {

/// For this many queries, processing each separately takes less time than lanes that are mostly empty.
constexpr std::size_t few_queries = 4;

template <part_kind Kind>
void set_alone(std::span<const float> lines, float* alone) {
    for (std::size_t i = 0; i < lines.size(); ++i) alone[i] = part<Kind>(0.0f, lines[i]);
}

}  // namespace

query_groups::query_groups(cpu_place& place, const sparse_tile<cpu_place>& queries, std::size_t first,
                           std::size_t count, vector_metric metric, bool by_products,
                           std::uint32_t max_buckets)
    : queries_(rows_of(queries)),
      first_(first),
      count_(count),
      width_(count <= few_queries ? 1 : group_queries) {
    const std::size_t groups = (count + width_ - 1) / width_;
    while ((queries.dimensions - 1) / partial_sums >> height_ != 0) ++height_;
    const std::uint64_t places = std::uint64_t{partial_sums} << height_;
    while (places >> shift_ > max_buckets) ++shift_;
    words_ = std::max<std::size_t>(1, (places >> shift_) / 32);
    groups_.resize(groups);
    for (std::size_t g = 0; g <= groups; ++g) {
        const std::size_t query = first + std::min(count, g * width_);
        entries_before_.push_back(static_cast<std::size_t>(queries.offsets[query] - queries.offsets[first]));
    }
    const std::size_t entries = entries_before_.back();
    places_ = {place, entries + groups, "columns of sparse queries"};
    firsts_ = {place, entries + groups, "columns of sparse queries"};
    present_ = {place, groups * words_, "columns of sparse queries"};
    before_ = {place, groups * words_, "columns of sparse queries"};
    for_each_piece(place, groups, [&](std::size_t g) { collect_places(g); });

    lines_before_.push_back(0);
    for (const query_group& group : groups_)
        lines_before_.push_back(lines_before_.back() + group.slots() + 1);
    lines_ = {place, lines_before_.back() * width_, "sparse queries, laid out"};
    if (!by_products) alone_ = {place, lines_.size(), "sparse queries, laid out"};
    for_each_piece(place, groups, [&](std::size_t g) {
        lay_out(g);
        if (by_products) return;
        const std::size_t begin = lines_before_[g] * width_, end = lines_before_[g + 1] * width_;
        with_part_kind(metric, [&](auto kind) {
            set_alone<kind>(lines_.span().subspan(begin, end - begin), alone_.data() + begin);
        });
        groups_[g].alone = alone_.data() + begin;
    });
    if (!by_products || metric == vector_metric::ip) return;
    squares_ = {place, groups * width_, "lengths of sparse queries"};
    std::fill_n(squares_.data(), squares_.size(), 0.0);
    std::copy_n(queries.squares.data() + first, count, squares_.data());
    for (std::size_t g = 0; g < groups; ++g) groups_[g].squares = squares_.data() + g * width_;
}

/// The distinct places of the group's columns, and the table of their buckets.
void query_groups::collect_places(std::size_t g) {
    query_group& group = groups_[g];
    std::uint32_t* const places = places_.data() + entries_before_[g] + g;  // one more after each group
    std::uint32_t* const firsts = firsts_.data() + entries_before_[g] + g;
    std::uint32_t* end = places;
    for (std::size_t q = g * width_; q < std::min(count_, (g + 1) * width_); ++q) {
        const sparse_row own = queries_[first_ + q];
        for (std::uint64_t e = 0; e < own.size; ++e) *end++ = place_of_column(own.columns[e], height_);
    }
    std::sort(places, end);
    end = std::unique(places, end);
    *end = ~std::uint32_t{0};
    for (unsigned c = 0; c < partial_sums; ++c)
        group.starts[c] = static_cast<std::uint32_t>(std::lower_bound(places, end, c << height_) - places);
    const auto slots = static_cast<std::uint32_t>(end - places);
    group.starts[partial_sums] = slots;

    std::uint32_t* const present = present_.data() + g * words_;
    std::uint32_t* const before = before_.data() + g * words_;
    std::fill_n(present, words_, 0u);
    std::size_t buckets = 0;
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        const std::uint32_t bucket = places[slot] >> shift_;
        std::uint32_t& word = present[bucket / 32];
        const std::uint32_t bit = 1u << bucket % 32;
        if ((word & bit) == 0) firsts[buckets++] = slot;
        word |= bit;
    }
    firsts[buckets] = slots;
    std::uint32_t sum = 0;
    for (std::size_t w = 0; w < words_; ++w) {
        before[w] = sum;
        sum += static_cast<std::uint32_t>(std::popcount(present[w]));
    }
    group.width = width_;
    group.height = height_;
    group.shift = shift_;
    group.present = present;
    group.before = before;
    group.firsts = firsts;
    group.places = places;
}

/// The lines of the group's columns, followed by one of zeros.
void query_groups::lay_out(std::size_t g) {
    query_group& group = groups_[g];
    float* const lines = lines_.data() + lines_before_[g] * width_;
    std::fill_n(lines, (group.slots() + 1) * width_, 0.0f);
    for (std::size_t q = g * width_; q < std::min(count_, (g + 1) * width_); ++q) {
        const sparse_row own = queries_[first_ + q];
        const std::uint32_t* at[partial_sums];  // for each partial sum, the slots not yet passed
        for (unsigned c = 0; c < partial_sums; ++c) at[c] = group.places + group.starts[c];
        for (std::uint64_t e = 0; e < own.size; ++e) {
            const unsigned c = own.columns[e] % partial_sums;
            const std::uint32_t place = place_of_column(own.columns[e], height_);
            at[c] = std::lower_bound(at[c], group.places + group.starts[c + 1], place);
            lines[static_cast<std::size_t>(at[c] - group.places) * width_ + q % width_] = own.values[e];
        }
    }
    group.lines = lines;
}

}  // namespace quern::nearest_detail
