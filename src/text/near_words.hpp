// SPDX-License-Identifier: Apache-2.0
// The words of a dictionary within a few edits of a word that it may lack.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "text/dictionary.hpp"

namespace quern::text {

struct near_word {
    std::uint32_t id, distance;
    friend bool operator==(const near_word&, const near_word&) = default;
};

/// All words within `bound` edits, by id. An edit inserts, deletes or replaces a character, or transposes two
/// neighbours that are not edited otherwise (optimal string alignment: Damerau 1964). Characters are code points; an
/// ill-formed byte is a character by itself. Exact. Thread-safe. Throws `interrupted` soon after the context's stop
/// flag is raised.
///
/// Cost: the dictionary's order is walked as a tree, and only branches that can still be near are entered. With bound 2
/// a few hundredths of the words are read, with 3 nearly all.
std::vector<near_word> near_words(const dictionary_view& words, std::string_view word, std::uint32_t bound,
                                  const context& ctx);

/// All words of which a beginning is within `bound` edits of `beginning`, by id, each with the least distance of its
/// beginnings. Otherwise as near_words.
std::vector<near_word> near_beginnings(const dictionary_view& words, std::string_view beginning,
                                       std::uint32_t bound, const context& ctx);

// How likely a word was typed instead of another.

/// A plain edit: a letter inserted or deleted.
inline constexpr std::uint32_t plain_edit = 4;

/// The cost of the cheapest way from the typed word to the intended one; 0 for the same word.
/// - a letter doubled, or a double letter written once: 2
/// - two neighbours transposed: 3
/// - a letter inserted or deleted: 4
/// - a letter replaced: 5
/// - 2 more for an edit that changes the first letter (people rarely mistake it), unless it doubles that letter
///
/// As with near_words, transposed letters are not edited otherwise, and characters are code points. Cost: the product
/// of the lengths.
std::uint32_t misspelling_cost(std::string_view typed, std::string_view meant);

}  // namespace quern::text
