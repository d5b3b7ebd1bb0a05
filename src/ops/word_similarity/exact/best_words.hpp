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

    /// Sorts the lists and returns them, or passes them on to `sink` unless it is null.
    neighbour_lists take(cpu_place& place, const neighbour_sink* sink) {
        neighbour_lists lists;
        lists.offsets.resize(std::size_t{words_} + 1);
        for (std::uint32_t w = 0; w < words_; ++w)
            lists.offsets[w + 1] = lists.offsets[w] + counts_.data()[w];
        constexpr std::uint64_t passed_at_once = 1 << 16;  // neighbours
        const std::size_t at_once = sink == nullptr ? words_ : passed_at_once / (top_ + 1) + 1;
        for (std::size_t begin = 0; begin < words_; begin += at_once) {
            const item_range some{begin, std::min<std::size_t>(words_, begin + at_once)};
            lists.words.resize(lists.offsets[some.end] - lists.offsets[some.begin]);
            lists.scores.resize(lists.words.size());
            sort_lists(place, some, lists);
            if (sink != nullptr) (*sink)(lists.words, lists.scores);
        }
        if (sink != nullptr) lists.words = {}, lists.scores = {};
        return lists;
    }

  private:
    /// Sorts some lists and copies them to the front of `lists`.
    void sort_lists(cpu_place& place, item_range some, neighbour_lists& lists) {
        const std::size_t words = some.end - some.begin, pieces = pieces_for(place, words, 256);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const item_range part = piece_of(words, pieces, p);
            for (std::size_t w = some.begin + part.begin; w < some.begin + part.end; ++w) {
                place.ctx().check_stop();
                scored_word* const first = found_.data() + w * top_;
                std::sort_heap(first, first + counts_.data()[w], better);
                std::uint64_t at = lists.offsets[w] - lists.offsets[some.begin];
                for (std::uint32_t k = 0; k < counts_.data()[w]; ++k, ++at) {
                    lists.words[at] = first[k].word;
                    lists.scores[at] = first[k].score;
                }
            }
        });
    }

    std::uint32_t words_, top_;
    spilled_array<scored_word> found_;
    cpu_array<std::uint32_t> counts_;
};

}  // namespace quern::word_similarity_detail
