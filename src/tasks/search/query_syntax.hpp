// SPDX-License-Identifier: Apache-2.0
// A query with operators, as typed: signs, phrases, prefixes, fields, AND, OR, NOT, parentheses. docs/search.md has the
// grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/search.hpp"

namespace quern {

/// Where a part of a query must occur; those after `text` are the indexed fields of the store, in order.
enum class query_field : std::uint32_t { any, title, text };

constexpr query_field indexed_field(std::size_t number) {
    return static_cast<query_field>(number + static_cast<std::uint32_t>(query_field::text) + 1);
}
/// The number of an indexed field; nothing for others.
constexpr std::optional<std::size_t> indexed_number(query_field field) {
    if (field <= query_field::text) return {};
    return static_cast<std::size_t>(field) - static_cast<std::uint32_t>(query_field::text) - 1;
}

enum class occurrence { optional, required, excluded };

struct syntax_node {
    enum class kind {
        words,   ///< text without operators: one word, or several if the analysis splits it
        phrase,  ///< quoted text
        prefix,  ///< the beginning of words
        all,     ///< every member that is not excluded, and none that is
        any,     ///< at least one member
        list,    ///< required, excluded and optional members
    };
    kind what = kind::list;
    occurrence occurs = occurrence::optional;  ///< in the list around it
    query_field field = query_field::any;
    std::uint32_t slop = 0;    ///< of a phrase: by how much the places of its words may differ
    std::uint32_t edits = 0;   ///< of words: by how many edits a word of a document may differ
    std::string text;          ///< of words, a phrase or a prefix, without escapes
    std::size_t position = 0;  ///< its first byte in the query
    std::vector<syntax_node> members;

    friend bool operator==(const syntax_node&, const syntax_node&) = default;
};

inline constexpr std::uint32_t max_slop = 1'000'000;
inline constexpr std::uint32_t max_edits = 2;
inline constexpr unsigned max_query_depth = 100;

/// The tree of a query, a list. `fields`: the indexed ones; `kept`: those that only filters read, for a hint. Throws query_error
/// for text outside the grammar.
syntax_node parse_operators(std::string_view query, std::span<const std::string> fields = {},
                            std::span<const std::string> kept = {});

/// How `auto` reads a query: with operators if it has one and all of it can be read so.
struct automatic_syntax {
    std::optional<syntax_node> tree;  ///< nothing: the query is words
    std::string note;  ///< what is read as words though it looks like an operator, and why; else empty
};
automatic_syntax read_automatically(std::string_view query, std::span<const std::string> fields = {},
                                    std::span<const std::string> kept = {});

}  // namespace quern
