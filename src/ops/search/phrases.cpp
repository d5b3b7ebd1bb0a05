// SPDX-License-Identifier: Apache-2.0
#include "ops/search/phrases.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <tuple>

#include "ops/search/postings.hpp"
#include "ops/search/token_code.hpp"

namespace quern::search_detail {
namespace {

/// A word of the phrase, and its first position in the coded phrase.
struct placed_word {
    const phrase_word* word;
    anchor_word code;
};

/// The distinct words of the phrase, the rarest first.
std::vector<placed_word> rarest_first(std::span<const phrase_word> phrase, const token_code& code,
                                      std::string& coded) {
    std::vector<placed_word> words;
    words.reserve(phrase.size());
    for (const phrase_word& word : phrase) {
        const codeword own = code.of(word.word);
        words.push_back({&word, {static_cast<std::uint32_t>(coded.size()), own.size, 0}});
        coded += own.text();
    }
    const auto order = [](const placed_word& w) {
        return std::tuple(w.word->list.document_frequency, w.word->word, w.code.begin);
    };
    std::ranges::sort(words, std::less<>(), order);
    const auto id = [](const placed_word& w) { return w.word->word; };
    const auto repeated = std::ranges::unique(words, std::equal_to<>(), id);
    words.erase(repeated.begin(), repeated.end());
    return words;
}

/// Documents that may contain the phrase: those of a block of the leading list, reduced by every other list.
struct candidates {
    struct candidate {
        std::uint32_t document;
        std::uint32_t frequency;  ///< of the document's rarest word of the phrase
        std::uint32_t word;       ///< that word
    };
    std::array<candidate, block_size> documents{};
    std::size_t size = 0;

    void take_those_of(const postings_cursor& cursor, document_range range) {
        size = 0;
        for (std::size_t i = 0; i < cursor.documents().size(); ++i) {
            const std::uint32_t document = cursor.documents()[i];
            if (document >= range.first && document < range.last)
                documents[size++] = {document, cursor.frequencies()[i], 0};
        }
    }

    void keep_those_of(postings_cursor& cursor, std::uint32_t word) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size;) {
            cursor.seek_block(documents[i].document);
            if (cursor.done()) break;
            cursor.decode();
            for (; i < size && documents[i].document <= cursor.last(); ++i) {
                candidate own = documents[i];
                const std::size_t at = place_in(cursor.documents(), own.document);
                const std::uint32_t frequency = cursor.frequencies()[at];
                const bool fewer = frequency < own.frequency;
                own.frequency = fewer ? frequency : own.frequency;
                own.word = fewer ? word : own.word;
                documents[kept] = own;
                kept += cursor.documents()[at] == own.document ? 1 : 0;
            }
        }
        size = kept;
    }

  private:
    /// The first that is not below `document`; one exists. Branch-free, so that one search can start before the previous
    /// one ends.
    static std::size_t place_in(std::span<const std::uint32_t> rising, std::uint32_t document) {
        const std::uint32_t* begin = rising.data();
        for (std::size_t left = rising.size(); left > 1;) {
            const std::size_t half = left / 2;
            begin += half & (std::size_t{0} - static_cast<std::size_t>(begin[half - 1] < document));
            left -= half;
        }
        return static_cast<std::size_t>(begin - rising.data());
    }
};

/// Whether to search for this word alone: one that is in more than every 16th vector has too many matches, and all bytes of
/// the phrase together are more selective.
bool is_rare(std::uint32_t frequency, std::size_t bytes) {
    return frequency * std::uint64_t{1024} <= bytes;
}

}  // namespace

std::vector<phrase_posting> find_phrase(const collection_view& collection, const token_stream& tokens,
                                        std::span<const phrase_word> phrase, document_range range) {
    const auto has_none = [](const phrase_word& word) { return word.list.document_frequency == 0; };
    if (phrase.empty() || std::ranges::any_of(phrase, has_none)) return {};
    std::string coded;
    const std::vector<placed_word> placed = rarest_first(phrase, *tokens.code, coded);
    std::vector<postings_cursor> cursors;
    cursors.reserve(placed.size());
    for (const placed_word& word : placed) cursors.emplace_back(word.word->list, collection.document_lengths);
    std::vector<phrase_posting> found;
    postings_cursor& leader = cursors.front();
    candidates block;
    const auto ask_for = [&](std::size_t i) {
        if (i >= block.size) return std::string_view();
        const std::string_view words = tokens.words_of(block.documents[i].document);
        for (const std::size_t line : {0, 64}) __builtin_prefetch(words.data() + line);
        return words;
    };
    for (leader.seek_block(range.first); !leader.done() && leader.lowest() < range.last;
         leader.next_block()) {
        leader.decode();
        block.take_those_of(leader, range);
        for (std::uint32_t i = 1; i < cursors.size() && block.size != 0; ++i)
            block.keep_those_of(cursors[i], i);
        // Documents are far apart: prefetches the next one's beginning before it reads one.
        std::string_view next = ask_for(0);
        for (std::size_t i = 0; i < block.size; ++i) {
            const std::string_view words = next;
            next = ask_for(i + 1);
            const auto& [document, frequency, word] = block.documents[i];
            anchor_word anchor = placed[word].code;
            anchor.frequency = frequency;
            const occurrence_counts counts = is_rare(frequency, words.size())
                                                 ? count_occurrences(words, coded, anchor)
                                                 : count_occurrences(words, coded);
            if (counts.all != 0) found.push_back({document, counts.all, counts.followed});
        }
    }
    return found;
}

}  // namespace quern::search_detail
