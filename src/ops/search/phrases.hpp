// SPDX-License-Identifier: Apache-2.0
// Phrases (n-grams for any n): the documents that contain words one after another. Candidates come from the posting lists,
// led by the shortest. Each candidate's words, which the store keeps in order, are searched as bytes (token_code.hpp), so
// no positions are stored.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "ops/search/kept_list.hpp"
#include "ops/search/token_code.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// The words of every document in order: those of its title, then those of its text, in agreement with its length.
struct token_stream {
    const token_code* code = nullptr;
    /// A document's coded words. Called by many threads in parallel; may throw damaged_store.
    std::function<std::string_view(std::uint32_t document)> words_of;
};

struct phrase_word {
    std::uint32_t word = 0;  ///< its id
    posting_list list;
};

/// A document that contains a phrase.
struct phrase_posting {
    std::uint32_t document;
    std::uint32_t frequency;  ///< occurrences, overlapping ones too: "a a a" contains "a a" twice
    std::uint32_t followed;   ///< those followed by another word of the document: its count as a history
    friend bool operator==(const phrase_posting&, const phrase_posting&) = default;
};

/// Documents [first, last).
struct document_range {
    std::uint32_t first = 0, last = std::numeric_limits<std::uint32_t>::max();
};

/// Every document of the range that contains the phrase, ascending; none for an empty phrase or one with a word without
/// documents.
/// - A title's last word and the text's first one are neighbours.
/// - Throws damaged_store if bytes are not those of a store. The lists' frequencies are trusted to agree with `tokens`.
/// - Contract class: exact.
/// - Thread-safe: a phrase may be searched in several ranges in parallel.
/// - Cost: the leading list's postings, looked up in the other lists by blocks, and one pass over the bytes of the
///   documents with all words: up to the last occurrence of the word that is rarest in the document (to the document's end
///   if that word is frequent too).
std::vector<phrase_posting> find_phrase(const collection_view& collection, const token_stream& tokens,
                                        std::span<const phrase_word> phrase, document_range range = {});

/// Where a word is in the words of its documents.
struct word_places {
    std::vector<std::uint32_t>
        ends;  ///< in `bytes`, of each document of the list in turn; if it is dense, of the collection
    std::vector<std::uint32_t> bytes;  ///< before the word's code in the document's words
    std::uint64_t memory() const { return (ends.capacity() + bytes.capacity()) * sizeof(std::uint32_t); }
};

/// The places of a word in the documents of its kept list. Throws damaged_store, and `interrupted` if the
/// stop flag of `ctx` is set. Cost: the words of all these documents.
word_places places_of(const token_stream& tokens, std::uint32_t word, const kept_list& list,
                      const context& ctx);

/// A word of a phrase, with its kept list, which has no documents by titles alone.
struct kept_phrase_word {
    std::uint32_t word = 0;
    const kept_list* list = nullptr;
    std::uint64_t occurrences = 0;        ///< in the collection
    const word_places* places = nullptr;  ///< null: not known
};

/// The word that leads a search by kept lists: one with the fewest documents.
const kept_phrase_word& leading_word(std::span<const kept_phrase_word> phrase);
/// The word whose places are worth knowing: the one with the fewest per document on average.
const kept_phrase_word& rarest_within(std::span<const kept_phrase_word> phrase);

/// The same by kept lists. Cost: the documents of the shortest list, looked up in the others,
/// instead of decoded postings; if the places of a word are known, only these are read in documents with all words.
std::vector<phrase_posting> find_phrase(const token_stream& tokens, std::span<const kept_phrase_word> phrase);

/// The k best of the documents with a phrase, as `search` finds for one term with these postings; of a model whose lists can be
/// kept. `passing`: as search_query::passing. Contract class: exact.
std::vector<scored_document> rank_phrase(const collection_view& collection,
                                         std::span<const phrase_posting> found,
                                         const ranking_options& options, std::size_t k,
                                         std::span<const std::uint64_t> passing = {});

}  // namespace quern::search_detail
