// SPDX-License-Identifier: Apache-2.0
// Suggestions for a query word that a store lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/tasks/search.hpp"
#include "tasks/store/opened_store.hpp"
#include "text/near_word_finder.hpp"

namespace quern {

/// The words of a store, and what finds those near a word.
struct searched_words {
    const word_index* index;
    const text::near_word_finder* finder;
};

/// The first unknown words of a query, for which there are suggestions.
inline constexpr std::size_t max_suggested_words = 8;

/// A known word that is near an unknown one.
struct suggestion {
    std::string word;
    std::uint32_t distance = 0, cost = 0;  ///< edits; text::misspelling_cost
    std::uint64_t documents = 0;           ///< that contain it
};
/// All of one store. Throws `interrupted`.
std::vector<suggestion> suggestions_in(const searched_words& store, const std::string& unknown,
                                       const context& ctx);
/// Adds the best of those that stores have found, if there are any; the same word of several stores is one.
void add_best_suggestions(const std::string& unknown, std::vector<suggestion> found, std::size_t max,
                          std::vector<suggested_words>& suggested);

/// search_result::suggestions, for words missing from the store, or from all shards. Throws `interrupted` soon after the
/// context's stop flag is raised.
std::vector<suggested_words> suggest_words(std::span<const searched_words> stores,
                                           std::span<const std::string> unknown, std::size_t max,
                                           const context& ctx);

}  // namespace quern
