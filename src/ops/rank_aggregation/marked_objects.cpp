// SPDX-License-Identifier: Apache-2.0
#include "ops/rank_aggregation/marked_objects.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "device/cpu/parallel.hpp"

namespace quern::rank_aggregation_detail {
namespace {

constexpr std::size_t min_words = std::size_t{1} << 13;  // for a thread to start

}  // namespace

object_bitmaps::object_bitmaps(cpu_place& place, std::size_t lists, std::uint32_t objects)
    : place_(place),
      lists_(lists),
      words_((std::size_t{objects} + 63) / 64),
      bitmaps_(place, words_ * lists, "the marks of objects") {
    const std::size_t pieces = pieces_for(place_, bitmaps_.size(), min_words);
    for_each_piece(place_, pieces, [&](std::size_t p) {
        const item_range mine = piece_of(bitmaps_.size(), pieces, p);
        std::fill(bitmaps_.data() + mine.begin, bitmaps_.data() + mine.end, 0);
    });
}

bool object_bitmaps::set_bit(std::size_t list, std::span<const std::uint32_t> ids) {
    std::uint64_t* const words = bitmap_of(list).data();
    std::uint64_t twice = 0;
    for (const std::uint32_t id : ids) {
        const std::uint64_t bit = std::uint64_t{1} << (id % 64);
        std::uint64_t& word = words[id / 64];
        twice |= word & bit;
        word |= bit;
    }
    return twice == 0;
}

std::uint64_t object_bitmaps::missing_at_most(std::size_t missing_lists,
                                              const std::vector<std::size_t>& undecided, bitmap objects) {
    const std::size_t pieces = pieces_for(place_, words_, min_words);
    std::vector<std::uint64_t> counts(pieces);
    for_each_piece(place_, pieces, [&](std::size_t p) {
        const item_range mine = piece_of(words_, pieces, p);
        std::vector<std::uint64_t> missing_bits((missing_lists + 1) * block);
        for (std::size_t begin = mine.begin; begin < mine.end; begin += block)
            counts[p] += missing_in_block(missing_lists, undecided, begin, std::min(mine.end, begin + block),
                                          missing_bits.data(), objects);
    });
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// Block t of `missing_bits`: the objects that lack more than t of the lists processed so far.
std::uint64_t object_bitmaps::missing_in_block(std::size_t missing_lists,
                                               const std::vector<std::size_t>& undecided, std::size_t begin,
                                               std::size_t end, std::uint64_t* missing_bits,
                                               bitmap objects) const {
    const std::size_t size = end - begin;
    std::fill_n(missing_bits, (missing_lists + 1) * block, 0);
    for (const std::size_t i : undecided) {
        const std::uint64_t* const seen = bitmaps_.data() + i * words_ + begin;
        for (std::size_t t = missing_lists; t > 0; --t) {
            std::uint64_t* const more = missing_bits + t * block;
            const std::uint64_t* const less = more - block;
            for (std::size_t w = 0; w < size; ++w) more[w] |= less[w] & ~seen[w];
        }
        for (std::size_t w = 0; w < size; ++w) missing_bits[w] |= ~seen[w];
    }
    std::uint64_t some[block] = {}, count = 0;
    for (std::size_t i = 0; i < lists_; ++i) {
        const std::uint64_t* const seen = bitmaps_.data() + i * words_ + begin;
        for (std::size_t w = 0; w < size; ++w) some[w] |= seen[w];
    }
    for (std::size_t w = 0; w < size; ++w) {
        objects[begin + w] = some[w] & ~missing_bits[missing_lists * block + w];
        count += static_cast<std::uint64_t>(std::popcount(objects[begin + w]));
    }
    return count;
}

std::uint64_t object_bitmaps::in_both(std::size_t a, std::size_t b) const {
    return std::transform_reduce(
        bitmap_of(a).begin(), bitmap_of(a).end(), bitmap_of(b).begin(), std::uint64_t{0}, std::plus<>(),
        [](std::uint64_t x, std::uint64_t y) { return static_cast<std::uint64_t>(std::popcount(x & y)); });
}

}  // namespace quern::rank_aggregation_detail
