// SPDX-License-Identifier: Apache-2.0
#include "ops/search/phrases.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "ops/search/postings.hpp"
#include "ops/search/token_kernels.hpp"

namespace quern::search_detail {
namespace {

/// Documents that may hold the phrase: those of a block of the leading list, and fewer with every other list.
struct candidates {
    std::array<std::uint32_t, block_size> documents{};
    std::size_t size = 0;

    void keep_those_of(postings_cursor& cursor) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size;) {
            cursor.seek_block(documents[i]);
            if (cursor.done()) break;
            cursor.decode();
            const auto all = cursor.documents();
            auto at = all.begin();
            for (; i < size && documents[i] <= cursor.last(); ++i) {
                at = std::lower_bound(at, all.end(), documents[i]);  // is no end: the last is not below
                if (*at == documents[i]) documents[kept++] = documents[i];
            }
        }
        size = kept;
    }
};

}  // namespace

std::vector<phrase_posting> find_phrase(const collection_view& collection, const token_stream& tokens,
                                        std::span<const phrase_word> phrase, document_range range) {
    std::string coded;
    std::vector<const phrase_word*> rarest_first;
    for (const phrase_word& word : phrase) {
        if (word.list.document_frequency == 0) return {};
        coded += tokens.code->of(word.word).text();
        rarest_first.push_back(&word);
    }
    if (phrase.empty()) return {};
    std::ranges::sort(rarest_first, [](const phrase_word* a, const phrase_word* b) {
        return a->list.document_frequency != b->list.document_frequency
                   ? a->list.document_frequency < b->list.document_frequency
                   : a->word < b->word;
    });
    const auto repeated = std::ranges::unique(
        rarest_first, [](const phrase_word* a, const phrase_word* b) { return a->word == b->word; });
    rarest_first.erase(repeated.begin(), repeated.end());

    std::vector<postings_cursor> cursors;
    cursors.reserve(rarest_first.size());
    for (const phrase_word* word : rarest_first)
        cursors.emplace_back(word->list, collection.document_lengths);
    std::vector<phrase_posting> found;
    postings_cursor& leader = cursors.front();
    candidates block;
    std::array<std::string_view, block_size> words;
    for (leader.seek_block(range.first); !leader.done() && leader.lowest() < range.last;
         leader.next_block()) {
        leader.decode();
        block.size = 0;
        for (const std::uint32_t document : leader.documents())
            if (document >= range.first && document < range.last) block.documents[block.size++] = document;
        for (std::size_t i = 1; i < cursors.size() && block.size != 0; ++i) block.keep_those_of(cursors[i]);
        // Documents lie far from each other: the beginnings of all are asked for before the first is looked at.
        for (std::size_t i = 0; i < block.size; ++i) {
            words[i] = tokens.words_of(block.documents[i]);
            __builtin_prefetch(words[i].data());
        }
        for (std::size_t i = 0; i < block.size; ++i) {
            const occurrence_counts counts = count_occurrences(words[i], coded);
            if (counts.all != 0) found.push_back({block.documents[i], counts.all, counts.followed});
        }
    }
    return found;
}

}  // namespace quern::search_detail
