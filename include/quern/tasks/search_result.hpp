// SPDX-License-Identifier: Apache-2.0
// What a search in a store finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/search_options.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

enum class explained_list { text, prior, like };
inline constexpr std::string_view explained_list_names[] = {"text", "prior", "like"};

/// The contribution of one term of the query, or of another component, to a hit's score, multiplied by its
/// count. Scores are multiples of 2^-32: the contributions add up exactly to the hit's score.
struct explained_term {
    explained_list list = explained_list::text;
    /// A word; a phrase in quotes; `word | history`; for the list like, the document's id.
    std::string term;
    /// Below 1 for similar words, words of feedback and with a dependence model; for prior and like that of the options.
    double weight = 1;
    /// For a similar word: the words of the query that it is similar to, separated by blanks.
    std::string similar_to;
    std::optional<double> value;  ///< for prior N · rank; for like the cosine
    std::uint32_t count = 1;      ///< occurrences in the query; a word with a history counts there
    std::uint32_t in_document = 0;
    std::uint64_t documents = 0, in_collection = 0;  ///< that contain it; its occurrences
    /// For words with a history: occurrences of the history that are followed by a word.
    std::optional<std::uint64_t> history_in_document, history_in_collection;
    double part = 0;        ///< contribution of its occurrences in the document
    double background = 0;  ///< score of documents that lack it
    double length = 0;      ///< contribution of the document's length to that
    double title = 0;       ///< contribution of the title
    double score = 0;       ///< the sum of the four
};

/// A near-duplicate of a document, which the build excluded.
struct duplicate_hit {
    std::string_view id, title;  ///< valid like those of search_hit
    std::uint32_t distance = 0;  ///< edit distance of the texts, in bytes
};

inline constexpr std::size_t max_hit_duplicates = 10;

struct search_hit {
    std::uint32_t rank = 0;  ///< from 1
    std::uint32_t document = 0;
    double score = 0;
    /// Valid as long as a copy of the search_result.
    std::string_view id, title;
    std::string snippet;
    std::uint32_t words = 0;  ///< in the document, including the title
    std::vector<explained_term> explanation;
    /// Those with the most words of the query in their titles first, then in the order of the corpus; at most
    /// max_hit_duplicates.
    std::vector<duplicate_hit> duplicates;
    std::uint64_t duplicate_count = 0;  ///< number of all near-duplicates
    std::string fields;  ///< the kept fields, a JSON object; empty if the document has none, or on request
};

/// A hit's explanation as a JSON list, one object per term: term, count, f, df, cf, history_f, history_cf,
/// length (the document's words), part, background, length_part, title_part, list, weight, similar_to, value,
/// score.
std::string explanation_json(const search_hit& hit);
/// A hit's `duplicates` as a JSON list, one object per near-duplicate: id, title, distance.
std::string duplicates_json(const search_hit& hit);

/// A word by which the query was expanded.
struct similar_word {
    std::string word;
    std::string similar_to;  ///< as in explained_term; empty for a word of feedback
    double weight = 0;
};

/// A word that no document contains, with suggestions from the store: at most 2 edits away (insertion,
/// deletion, replacement or swap of two adjacent characters), or 1 for fewer than six characters. The likeliest
/// first, by the kinds of edits and the number of documents (docs/search.md), then by bytes. Words are in
/// analysed form: stems if the store stems.
struct suggested_words {
    struct known {
        std::string word;
        std::uint32_t distance = 0;
        std::uint64_t documents = 0;  ///< that contain it
    };
    std::string unknown;
    std::vector<known> words;  ///< at least one
};

/// Words that stand for a word of the query because of typos (search_options::typos, word~1): the nearest first, then those
/// in most documents, then by bytes.
struct found_variants {
    std::string word;
    std::vector<suggested_words::known> words;  ///< at least one
};

/// How often the values of a kept field occur in the documents that a query finds.
struct search_facet {
    struct value_count {
        /// Text; a number or true, false as in JSON; a date as 2024-05-01, or 2024-05-01T12:30:00Z if not at midnight UTC.
        std::string value;
        std::uint64_t documents = 0;
    };
    std::string field;
    field_type type = field_type::text;
    std::uint64_t documents = 0;  ///< found, that have the field
    std::uint64_t distinct = 0;   ///< values
    std::vector<value_count>
        values;  ///< most documents first, then by value; at most search_options::facet_values
    /// The smallest and the largest value, of integers, numbers and dates; empty for other types and without values.
    std::string min, max;
};

/// The facets of a result as a JSON object, a member for each field: type, documents, distinct, values (a list of value
/// and documents) and, of integers, numbers and dates, min and max.
std::string facets_json(const std::vector<search_facet>& facets);

struct search_result {
    std::vector<search_hit> hits;
    /// Of the query, in analysed form; phrases that no document contains, in quotes.
    std::vector<std::string> unknown_words;
    bool empty_query = false;                   ///< no word remains after analysis
    query_syntax syntax = query_syntax::words;  ///< how the query was read: words or operators
    /// Of an automatic syntax: what was read as words though it looks like an operator, and why (an operator that cannot be
    /// read; a kept field before a colon, which a filter reads); else empty.
    std::string syntax_note;
    /// With search_options::total or count: the number of documents that the query finds.
    std::optional<std::uint64_t> total;
    std::vector<search_facet> facets;          ///< with search_options::facets; in that order
    std::vector<similar_word> similar_words;   ///< with search_options::expand; in byte order
    std::vector<suggested_words> suggestions;  ///< with search_options::suggestions; in byte order
    std::vector<found_variants> variants;      ///< in byte order
    /// The words of `variants`, and with search_options::prefix_last those that begin with the last word, in byte order.
    std::vector<std::string> variant_words;
    /// Keeps the opened store, in whose memory ids and titles are, also after the engine is gone.
    std::shared_ptr<const void> opened;
};

struct completion_options {
    std::size_t k = 10;
    /// Whether words with typos complete a beginning with which no word begins; `one` allows one edit.
    typo_tolerance typos = typo_tolerance::automatic;
};

/// A word of the store that completes what is typed.
struct completed_word {
    std::string word;             ///< in the store's form: a stem if the store stems
    std::uint64_t documents = 0;  ///< that contain it
    std::uint64_t occurrences = 0;
    std::uint32_t distance = 0;  ///< edits between what is typed and the nearest beginning of the word
};

struct completion_result {
    std::string before;     ///< what is typed before the last word
    std::string beginning;  ///< the last word as the store spells it; empty if a blank or the like follows it
    std::uint64_t total = 0;            ///< words that complete it
    std::vector<completed_word> words;  ///< the k best of these: by distance, documents (most first), bytes
};

/// A document of the store.
struct stored_document {
    std::string id, title;
    std::string text;
    std::uint32_t words = 0;  ///< its length, including the title
    std::string fields = {};  ///< the kept fields, a JSON object; empty if it has none
};

/// A range of bytes that is a word of a query.
struct text_match {
    std::size_t begin = 0, end = 0;
    friend bool operator==(const text_match&, const text_match&) = default;
};

struct search_topic {
    std::string id, query;
    std::vector<float> vector = {};  ///< not empty: instead of search_options::vector
    std::string weights = {};        ///< of words, in a store of weights instead of the query
};

}  // namespace quern
