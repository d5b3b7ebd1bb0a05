// SPDX-License-Identifier: Apache-2.0
// Cuts the order between first words into pieces, which threads take one by one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/rows/ordered_rows.hpp"

namespace quern::ngram_detail {

/// Cuts the order between first words into pieces of about equal size; returns the start of each, and the end.
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

/// `shared` as in sorted_ngrams. make_maker() gives a thread its maker. make(begin, end, piece, max_held, relieve) adds
/// the rows of these sorted positions to the piece, and calls `relieve` after about every `max_held` rows.
template <class Block, class MakeMaker>
std::vector<ngram_totals> blocks_from_order(cpu_place& place, std::span<const std::uint8_t> shared,
                                            unsigned first_n, const ngram_options& options,
                                            const typename ordered_blocks<Block>::row_sink& sink,
                                            const MakeMaker& make_maker) {
    constexpr std::size_t row_bytes = 80;  // maximum, with the columns half full
    const std::vector<std::size_t> begins = cut_at_first_words(shared);
    // Rows take at most an eighth of the memory: half of them wait, half belong to the pieces being worked on. A thread
    // checks for its turn more often than it fills its share.
    const std::size_t max_waiting =
        std::min<std::size_t>(std::size_t{1} << 21, place.memory().limit() / 16 / row_bytes);
    const std::size_t bulk_of_piece = std::max<std::size_t>(1, max_waiting / place.threads());
    const std::size_t max_held = std::min<std::size_t>(std::size_t{1} << 16, bulk_of_piece);
    ordered_blocks<Block> out(first_n, options, sink, max_waiting);
    std::atomic<std::size_t> next{0};
    const std::size_t pieces = shared.empty() ? 0 : begins.size() - 1;
    for_each_piece(place, std::min<std::size_t>(pieces, place.threads()), [&](std::size_t) {
        try {
            auto maker = make_maker();
            // Pieces are taken in order, so the one whose turn it is never waits.
            for (std::size_t p = next++; p < pieces; p = next++) {
                place.ctx().check_stop();
                typename ordered_blocks<Block>::piece rows = out.capacity();
                maker.make(begins[p], begins[p + 1], rows, max_held, [&] {
                    place.ctx().check_stop();  // the piece of a frequent word is long
                    out.relieve(p, rows, bulk_of_piece);
                });
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
