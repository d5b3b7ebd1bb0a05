// SPDX-License-Identifier: Apache-2.0
// Filters on all threads, and what they let through in batches that memory holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/old_texts.hpp"

namespace quern::near_duplicates_detail {

/// What a piece of work finds.
struct scanned {
    std::vector<candidate> found;   ///< texts that may be a pair
    std::vector<text_copy> copies;  ///< texts that are equal
    std::uint64_t compared = 0;
};

/// Calls scan(piece) -> scanned for all pieces, at once and in order as far as anyone can see.
template <class Scan>
void scan_pieces(cpu_place& place, std::size_t pieces, const Scan& scan, const take_candidates& take,
                 std::vector<text_copy>& copies, duplicate_counts& counts) {
    constexpr std::size_t most_waiting = std::size_t{1} << 22;  // for their edit distances, about
    const std::size_t at_once = std::size_t{256} * place.threads();
    std::vector<candidate> waiting;
    const auto flush = [&] {
        counts.candidates += waiting.size();
        take(waiting);
        waiting.clear();
    };
    for (std::size_t begin = 0; begin < pieces; begin += at_once) {
        std::vector<scanned> results(std::min(at_once, pieces - begin));
        for_each_piece(place, results.size(), [&](std::size_t p) {
            place.run().check_stop();
            results[p] = scan(begin + p);
        });
        for (const scanned& result : results) {
            counts.compared += result.compared;
            waiting.insert(waiting.end(), result.found.begin(), result.found.end());
            copies.insert(copies.end(), result.copies.begin(), result.copies.end());
        }
        if (waiting.size() >= most_waiting) flush();
    }
    flush();
}

}  // namespace quern::near_duplicates_detail
