// SPDX-License-Identifier: Apache-2.0
// Wang's (2015) scheme on the CPU: words are cut into tiles; each pair of tiles is computed once into a block of scores,
// which then enters the lists of both sides. Free threads take the next pair of tiles; one lock per tile guards its words'
// lists, which do not depend on the order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/word_similarity/exact/best_words.hpp"

namespace quern::word_similarity_detail {

/// The scores of a pair of tiles: a × b; if a == b only those above the diagonal.
struct tile_pair {
    item_range a, b;
    double* scores;  ///< row-major, b.end - b.begin columns
};

/// Calls compute(tile_pair) for each pair of `tile_words` words and takes the best. compute fills the scores.
template <class Compute>
neighbour_lists best_of_tile_pairs(cpu_place& place, std::uint32_t words, std::uint32_t top,
                                   std::size_t tile_words, const neighbour_sink* sink,
                                   const Compute& compute) {
    best_words best(place, words, top);
    const std::size_t tiles = (words + tile_words - 1) / tile_words, pairs = tiles * (tiles + 1) / 2;
    const std::unique_ptr<std::mutex[]> locks(new std::mutex[tiles]);
    const auto tile = [&](std::size_t t) {
        return item_range{t * tile_words, std::min<std::size_t>((t + 1) * tile_words, words)};
    };
    const auto compute_pair = [&](std::size_t i, std::size_t j) {
        place.ctx().check_stop();
        const item_range a = tile(i), b = tile(j);
        const std::size_t width = b.end - b.begin;
        std::vector<double> scores((a.end - a.begin) * width);
        compute(tile_pair{a, b, scores.data()});
        const auto offer_all = [&](std::size_t owner, bool rows) {
            const std::lock_guard hold(locks[owner]);
            for (std::size_t x = a.begin; x < a.end; ++x)
                for (std::size_t y = std::max(b.begin, i == j ? x + 1 : 0); y < b.end; ++y) {
                    const double score = scores[(x - a.begin) * width + (y - b.begin)];
                    const auto left = static_cast<std::uint32_t>(x), right = static_cast<std::uint32_t>(y);
                    if (rows)
                        best.offer(left, {score, right});
                    else
                        best.offer(right, {score, left});
                }
        };
        offer_all(i, true);
        offer_all(j, false);
    };
    for_each_piece(place, pairs, [&](std::size_t p) {
        // Pairs in rows of the triangle: row i holds tiles - i of them.
        std::size_t i = 0;
        for (; p >= tiles - i; ++i) p -= tiles - i;
        compute_pair(i, i + p);
    });
    return best.take(place, sink);
}

/// The tile size so that a block of scores takes at most `bytes`, 512 KB if 0 is given.
inline std::size_t tile_words_within(std::uint64_t bytes) {
    const double max = bytes == 0 ? 0x1p19 : static_cast<double>(bytes);
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::sqrt(max / sizeof(double))), 1, 4096);
}

}  // namespace quern::word_similarity_detail
