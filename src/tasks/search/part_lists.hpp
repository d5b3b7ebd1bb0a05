// SPDX-License-Identifier: Apache-2.0
// The documents of phrases, prefixes and parts with a field: lists made for one query, which score like those of words.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ops/search/query_lists.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/search/analysed_query.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// The words of a text, by the rules of the store's documents.
using words_of_text = std::function<void(std::string_view text, text::token_list& words)>;

/// The documents of a part that is not loose.
struct part_documents {
    std::vector<search_detail::phrase_posting> found;   ///< ascending; frequencies count what is in the field
    std::vector<search_detail::phrase_posting> titles;  ///< those with it in the title
    /// With `in_fields`: those with it in each indexed field.
    std::vector<std::vector<search_detail::phrase_posting>> fields;
};

/// Some words of a store, by their ids in its two indexes, ascending. A word of titles alone belongs to near-duplicates.
struct store_words {
    std::vector<std::uint32_t> ids, title_ids;
    bool empty() const { return ids.empty() && title_ids.empty(); }
};

bool has_word(const opened_store& store, std::string_view word);
store_words words_beginning_with(const opened_store& store, std::string_view prefix);
/// Each once, in byte order.
std::vector<std::string> spelled(const opened_store& store, const store_words& words);

class folded_words;

class part_finder {
  public:
    /// All must outlive it. `folded`: needed for parts that are folded. `weighs_fields`: whether `found` has all that is in
    /// titles, those of near-duplicates included.
    part_finder(const opened_store& store, const search_detail::token_stream& tokens,
                const words_of_text& words_of, const folded_words* folded, bool weighs_fields,
                const context& ctx)
        : store_(store),
          tokens_(tokens),
          words_of_(words_of),
          folded_(folded),
          weighs_fields_(weighs_fields),
          ctx_(ctx),
          collection_(store.collection()) {}

    /// Finds nothing if a word of the part is not in the store. Without `with_titles`, titles are empty; without `in_fields`,
    /// fields are.
    part_documents find(const query_part& part, bool with_titles, bool in_fields) const;
    /// The documents with any of some words, which count as one; `field` as in a part.
    part_documents find_any(const store_words& words, query_field field, bool with_titles,
                            bool in_fields = false) const;
    /// Whether a word's list lacks some of `titles`: those that only near-duplicates' titles bring.
    bool lacks_titles(const posting_list& titles) const;
    /// The documents of a word in any field: its list, and what it lacks of its titles.
    std::vector<search_detail::phrase_posting> in_any_field(const posting_list& list,
                                                            const posting_list& titles,
                                                            std::string_view word) const;

  private:
    using postings = std::vector<search_detail::phrase_posting>;

    part_documents find_word(const query_part& part, bool with_titles) const;
    part_documents find_phrase(const query_part& part, bool with_titles) const;
    /// Of a phrase whose words stand for others, outside of titles.
    postings find_folded_phrase(const query_part& part) const;
    /// Documents with all words of a phrase in titles.
    std::vector<std::uint32_t> documents_by_titles(const query_part& part) const;
    /// Where a phrase occurs in one title, or in one value of a field.
    std::uint32_t count_in(std::string_view text, const query_part& phrase) const;
    /// Without occurrences in the documents' own titles; `counts(word)` tells which words of these count.
    postings without_titles(postings found, const postings& in_titles,
                            const std::function<bool(std::string_view word)>& counts) const;
    /// The documents with any of some words in an indexed field.
    postings in_field(std::size_t field, std::span<const std::string> words) const;
    /// `anywhere`: the documents that have the phrase, in any field.
    postings phrase_in_field(std::size_t field, const query_part& part, const postings& anywhere) const;
    part_documents find_in_field(std::size_t field, const query_part& part, bool in_fields) const;
    /// Without occurrences in the indexed fields; `words`: what was found.
    postings without_fields(postings found, std::span<const std::string> words) const;
    /// How many words of a document are those of its indexed fields.
    std::size_t count_in_fields(std::uint32_t document) const;
    postings only_in_text(const postings& found, const std::vector<std::uint32_t>& phrase,
                          std::uint32_t slop) const;

    const opened_store& store_;
    const search_detail::token_stream& tokens_;
    const words_of_text& words_of_;
    const folded_words* folded_;
    const bool weighs_fields_;
    const context& ctx_;
    collection_view collection_;
};

}  // namespace quern
