// SPDX-License-Identifier: Apache-2.0
// All pairs of words without bounds.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/progress_meter.hpp"
#include "ops/word_similarity/exact/best_words.hpp"
#include "ops/word_similarity/exact/terms.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {

/// The rows of a share among these words against all columns' postings with exact sums: for few words, where most pairs
/// are neighbours, and for measures without bounds. Other words' lists are empty.
template <class Terms>
neighbour_lists find_row_by_row(cpu_place& place, const fixed_rows& rows, const Terms& terms,
                                std::uint32_t top, const neighbour_sink* sink, const pair_share& share,
                                word_range among) {
    using sum = typename Terms::sum;
    const inverted_rows columns(place, rows, terms.values());
    best_words best(place, rows.words, top);
    tbb::enumerable_thread_specific<std::vector<sum>> sums;
    const std::size_t pieces = (among.count + 15) / 16;
    progress_meter meter(place.ctx(), "similar", among.count, "words");
    for_each_piece(place, pieces, [&](std::size_t p) {
        item_range part = piece_of(among.count, pieces, p);
        part.begin += among.first;
        part.end += among.first;
        if (!share.has(p)) return meter.add(part.end - part.begin);
        std::vector<sum>& shared = sums.local();
        for (std::size_t a = part.begin; a < part.end; ++a) {
            shared.assign(rows.words, sum{});
            add_shared(place.ctx(), rows, columns, terms, a, std::span<sum>(shared));
            for (std::uint32_t b = 0; b < rows.words; ++b)
                if (shared[b] != sum{} && b != a)
                    best.offer(static_cast<std::uint32_t>(a), {terms.score(shared[b], a, b), b});
        }
        meter.add(part.end - part.begin);
    });
    return best.take(place, sink);
}

}  // namespace quern::word_similarity_detail
