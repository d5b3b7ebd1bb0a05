// SPDX-License-Identifier: Apache-2.0
#include "ops/top_k/object_planes.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "device/cpu/parallel.hpp"

namespace quern::top_k_detail {
namespace {

constexpr std::size_t least_words = std::size_t{1} << 13;  // for a thread to begin

}  // namespace

object_planes::object_planes(cpu_place& place, std::size_t lists, std::uint32_t objects)
    : place_(place),
      lists_(lists),
      words_((std::size_t{objects} + 63) / 64),
      planes_(place, words_ * lists, "the marks of objects") {
    const std::size_t pieces = pieces_for(place_, planes_.size(), least_words);
    for_each_piece(place_, pieces, [&](std::size_t p) {
        const stretch mine = piece_of(planes_.size(), pieces, p);
        std::fill(planes_.data() + mine.begin, planes_.data() + mine.end, 0);
    });
}

bool object_planes::mark(std::size_t list, std::span<const std::uint32_t> ids) {
    std::uint64_t* const words = plane(list).data();
    std::uint64_t twice = 0;
    for (const std::uint32_t id : ids) {
        const std::uint64_t bit = std::uint64_t{1} << (id % 64);
        std::uint64_t& word = words[id / 64];
        twice |= word & bit;
        word |= bit;
    }
    return twice == 0;
}

std::uint64_t object_planes::lacking_at_most(std::size_t lacking, const std::vector<std::size_t>& open,
                                             bitmap objects) {
    const std::size_t pieces = pieces_for(place_, words_, least_words);
    std::vector<std::uint64_t> counts(pieces);
    for_each_piece(place_, pieces, [&](std::size_t p) {
        const stretch mine = piece_of(words_, pieces, p);
        std::vector<std::uint64_t> lacks((lacking + 1) * block);
        for (std::size_t begin = mine.begin; begin < mine.end; begin += block)
            counts[p] += lacking_in_block(lacking, open, begin, std::min(mine.end, begin + block),
                                          lacks.data(), objects);
    });
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// `lacks`, block t of it: the objects that lack more than t lists of those looked at so far.
std::uint64_t object_planes::lacking_in_block(std::size_t lacking, const std::vector<std::size_t>& open,
                                              std::size_t begin, std::size_t end, std::uint64_t* lacks,
                                              bitmap objects) const {
    const std::size_t size = end - begin;
    std::fill_n(lacks, (lacking + 1) * block, 0);
    for (const std::size_t i : open) {
        const std::uint64_t* const seen = planes_.data() + i * words_ + begin;
        for (std::size_t t = lacking; t > 0; --t) {
            std::uint64_t* const more = lacks + t * block;
            const std::uint64_t* const less = more - block;
            for (std::size_t w = 0; w < size; ++w) more[w] |= less[w] & ~seen[w];
        }
        for (std::size_t w = 0; w < size; ++w) lacks[w] |= ~seen[w];
    }
    std::uint64_t some[block] = {}, count = 0;
    for (std::size_t i = 0; i < lists_; ++i) {
        const std::uint64_t* const seen = planes_.data() + i * words_ + begin;
        for (std::size_t w = 0; w < size; ++w) some[w] |= seen[w];
    }
    for (std::size_t w = 0; w < size; ++w) {
        objects[begin + w] = some[w] & ~lacks[lacking * block + w];
        count += static_cast<std::uint64_t>(std::popcount(objects[begin + w]));
    }
    return count;
}

std::uint64_t object_planes::in_both(std::size_t a, std::size_t b) const {
    return std::transform_reduce(
        plane(a).begin(), plane(a).end(), plane(b).begin(), std::uint64_t{0}, std::plus<>(),
        [](std::uint64_t x, std::uint64_t y) { return static_cast<std::uint64_t>(std::popcount(x & y)); });
}

}  // namespace quern::top_k_detail
