// SPDX-License-Identifier: Apache-2.0
// The order is cut between first words into pieces, which the threads take one by one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/ordered_rows.hpp"

namespace quern::ngram_detail {

/// Cuts the order between first words, into pieces of about equal size; where one begins, and the end.
inline std::vector<std::size_t> cut_at_first_words(std::span<const std::uint8_t> shared) {
    constexpr std::size_t piece_positions = std::size_t{1} << 14;
    std::vector<std::size_t> begins{0};
    for (std::size_t i = piece_positions; i < shared.size(); i = begins.back() + piece_positions) {
        while (i < shared.size() && shared[i] != 0) ++i;
        if (i < shared.size())
            begins.push_back(i);
        else
            break;
    }
    begins.push_back(shared.size());
    return begins;
}

/// `shared` as sorted_ngrams has it. make_maker() gives a thread its maker, whose make(begin, end, piece, most_held, relieve) adds the
/// rows of these sorted positions to the piece, and calls `relieve` after each `most_held` rows or so.
template <class Block, class MakeMaker>
std::vector<ngram_totals> blocks_from_order(cpu_place& place, std::span<const std::uint8_t> shared,
                                            unsigned first_n, const ngram_options& options,
                                            const typename ordered_blocks<Block>::taker& take,
                                            const MakeMaker& make_maker) {
    constexpr std::size_t row_bytes = 80;  // at most, with the columns half full
    const std::vector<std::size_t> begins = cut_at_first_words(shared);
    // Rows in an eighth of the memory at most: half of them wait, half are those of the pieces that threads work on. A thread
    // looks whether it is its turn more often than it has its share.
    const std::size_t most_waiting =
        std::min<std::size_t>(std::size_t{1} << 21, place.memory().limit() / 16 / row_bytes);
    const std::size_t most_of_piece = std::max<std::size_t>(1, most_waiting / place.threads());
    const std::size_t most_held = std::min<std::size_t>(std::size_t{1} << 16, most_of_piece);
    ordered_blocks<Block> out(first_n, options, take, most_waiting);
    std::atomic<std::size_t> next{0};
    const std::size_t pieces = shared.empty() ? 0 : begins.size() - 1;
    for_each_piece(place, std::min<std::size_t>(pieces, place.threads()), [&](std::size_t) {
        try {
            auto maker = make_maker();
            // Pieces are taken in order, so that the one whose turn it is never waits.
            for (std::size_t p = next++; p < pieces; p = next++) {
                place.run().check_stop();
                typename ordered_blocks<Block>::piece rows = out.room();
                maker.make(begins[p], begins[p + 1], rows, most_held,
                           [&] { out.relieve(p, rows, most_of_piece); });
                if (!out.complete(p, std::move(rows))) break;
            }
        } catch (...) {
            out.fail();
            throw;
        }
    });
    return out.totals();
}

}  // namespace quern::ngram_detail
