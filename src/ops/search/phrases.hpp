// SPDX-License-Identifier: Apache-2.0
// Phrases (n-grams, where n is any number): the documents that hold words one behind the other. Candidates come from
// the posting lists, the shortest list leading; each is looked through in the words that the store keeps in order,
// as bytes (token_code.hpp), so that no positions are stored.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "ops/search/token_code.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// The words of every document in order: those of its title, then those of its text, as its length counts them.
struct token_stream {
    const token_code* code = nullptr;
    /// A document's words, coded. Asked by many threads at once; may throw damaged_store.
    std::function<std::string_view(std::uint32_t document)> words_of;
};

struct phrase_word {
    std::uint32_t word = 0;  ///< its id
    posting_list list;
};

/// A document that holds a phrase.
struct phrase_posting {
    std::uint32_t document;
    std::uint32_t frequency;  ///< occurrences, overlapping ones too: "a a a" holds "a a" twice
    std::uint32_t followed;   ///< those with another word of the document behind them: its count as a history
    friend bool operator==(const phrase_posting&, const phrase_posting&) = default;
};

/// Documents [first, last).
struct document_range {
    std::uint32_t first = 0, last = std::numeric_limits<std::uint32_t>::max();
};

/// Every document of the range that holds the phrase, rising; none for a phrase of no words or with a word of no
/// documents. A title's last word and the text's first one are neighbours. Throws damaged_store where bytes are not
/// those of a store; the lists' frequencies are taken on trust, as those of `tokens`.
/// Contract class: exact. Thread-safe: a phrase may be looked for in several ranges at once.
/// Cost: the leading list's postings, looked up in the other lists by blocks, and one pass over the bytes of the
/// documents that hold all words, in each up to the last occurrence of the word that it holds least often (to its end
/// where that is frequent, too).
std::vector<phrase_posting> find_phrase(const collection_view& collection, const token_stream& tokens,
                                        std::span<const phrase_word> phrase, document_range range = {});

}  // namespace quern::search_detail
