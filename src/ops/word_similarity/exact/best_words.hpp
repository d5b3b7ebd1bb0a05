// SPDX-License-Identifier: Apache-2.0
// The `top` most similar words of every word, updated as they are found: one heap per word, with the worst on top (the
// thesis's UpdateTopK). The result does not depend on the order of the offers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/spilled_array.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

struct scored_word {
    double score;
    std::uint32_t word;
};
/// The single total order of neighbours: score descending, then id ascending.
inline bool better(const scored_word& a, const scored_word& b) {
    return a.score != b.score ? a.score > b.score : a.word < b.word;
}

class best_words {
  public:
    best_words(cpu_place& place, std::uint32_t words, std::uint32_t top)
        : words_(words),
          top_(std::min(top, words == 0 ? 0 : words - 1)),
          found_(place, std::size_t{words} * top_, "the most similar words"),
          counts_(place, words, "how many are found") {
        std::fill_n(counts_.data(), words, 0U);
    }

    /// Only one thread at a time per word.
    void offer(std::uint32_t word, scored_word candidate) {
        if (!(candidate.score > 0)) return;
        scored_word* const first = found_.data() + std::size_t{word} * top_;
        std::uint32_t& count = counts_.data()[word];
        if (count == top_) {
            if (!better(candidate, first[0])) return;
            std::pop_heap(first, first + count, better);
            first[count - 1] = candidate;
        } else {
            first[count++] = candidate;
        }
        std::push_heap(first, first + count, better);
    }
    /// A candidate must exceed this score, or equal it with a lower id than the worst's; 0 while the list is not full.
    double least(std::uint32_t word) const {
        return counts_.data()[word] < top_ ? 0 : found_.data()[std::size_t{word} * top_].score;
    }

    /// Sorts and returns the lists; leaves this empty.
    neighbour_lists take(cpu_place& place) {
        neighbour_lists lists;
        lists.offsets.resize(std::size_t{words_} + 1);
        for (std::uint32_t w = 0; w < words_; ++w)
            lists.offsets[w + 1] = lists.offsets[w] + counts_.data()[w];
        lists.words.resize(lists.offsets.back());
        lists.scores.resize(lists.offsets.back());
        const std::size_t pieces = pieces_for(place, words_, 256);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const item_range part = piece_of(words_, pieces, p);
            for (std::size_t w = part.begin; w < part.end; ++w) {
                place.ctx().check_stop();
                scored_word* const first = found_.data() + w * top_;
                std::sort_heap(first, first + counts_.data()[w], better);
                for (std::uint32_t k = 0; k < counts_.data()[w]; ++k) {
                    lists.words[lists.offsets[w] + k] = first[k].word;
                    lists.scores[lists.offsets[w] + k] = first[k].score;
                }
            }
        });
        return lists;
    }

  private:
    std::uint32_t words_, top_;
    spilled_array<scored_word> found_;
    cpu_array<std::uint32_t> counts_;
};

}  // namespace quern::word_similarity_detail
