// SPDX-License-Identifier: Apache-2.0
// A query in the words of a store: its parts, and how a document must match them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/search.hpp"
#include "tasks/search/query_syntax.hpp"

namespace quern {

/// Words that belong together in a query.
struct query_part {
    std::vector<std::string> words;  ///< of a prefix one: what words begin with
    bool quoted = false;
    bool joined = false;  ///< not quoted, but with an operator: several words are a phrase
    bool prefix = false;
    query_field field = query_field::any;
    std::string field_name = {};  ///< of an indexed field
    std::uint32_t slop = 0;
    std::uint32_t edits = 0;  ///< of one word: by how many edits a word of a document may differ
    /// Of one word that is still being typed: what words begin with that stand for it, too; else empty.
    std::string beginning = {};
    double weight = 1;      ///< in a store of weights
    bool excluded = false;  ///< restricts the documents, without a score
    bool folded = false;    ///< words that differ by accents alone count as these

    /// Whether the words have to be next to each other.
    bool is_phrase() const { return (quoted || joined || field != query_field::any) && words.size() > 1; }
    /// Whether its words may occur anywhere in a document.
    bool is_loose() const { return !is_phrase() && !prefix && !folded && field == query_field::any; }
    /// As typed, of a part that is not loose: `title:"grain stones"~2`.
    std::string name() const;
};

/// A part, or groups that a document must match together.
struct query_group {
    std::optional<std::size_t> part;  ///< nothing: the members
    syntax_node::kind what = syntax_node::kind::list;
    occurrence occurs = occurrence::optional;
    std::vector<query_group> members;
};

struct analysed_query {
    std::vector<query_part> parts;  ///< in the order of the query
    query_group whole;              ///< a list
    query_syntax syntax = query_syntax::words;
    std::string note;  ///< search_result::syntax_note
};

/// The word at the end of a text that nothing follows.
struct unfinished_word {
    std::size_t begin = 0;  ///< its first byte
    std::string beginning;  ///< neither stemmed nor dropped
};

struct query_analysis {
    /// The words of a text of the query.
    std::function<std::vector<std::string>(std::string_view text)> words_of;
    /// The words of one part of a query with operators; blanks separate verbatim words if `quoted`.
    std::function<std::vector<std::string>(std::string_view text, bool quoted)> words_of_part;
    /// The words of the beginning of a word: neither stemmed nor dropped.
    std::function<std::vector<std::string>(std::string_view text)> words_of_prefix;
    /// If the last word of the query is still being typed; empty: it is not.
    std::function<std::optional<unfinished_word>(std::string_view text)> unfinished = {};
    /// The names of the indexed fields.
    std::span<const std::string> fields = {};
    /// Those of the kept fields, which only filters read.
    std::span<const std::string> kept = {};
};

/// Marks the parts that other words count as. Words of their own become parts of their own if there are such words.
void fold_accents(analysed_query& query, const std::function<bool(std::string_view word)>& has_others);

/// Throws query_error with query_syntax::operators. `phrases`: whether quotes have a meaning if the syntax is words.
analysed_query analyse(std::string_view query, query_syntax syntax, bool phrases, const query_analysis& by);

}  // namespace quern
