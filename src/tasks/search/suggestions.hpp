// SPDX-License-Identifier: Apache-2.0
// Suggestions for a query word that a store lacks.
#pragma once

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

/// search_result::suggestions, for words missing from the store, or from all shards. Throws `interrupted` soon after the
/// context's stop flag is raised.
std::vector<suggested_words> suggest_words(std::span<const searched_words> stores,
                                           std::span<const std::string> unknown, std::size_t max,
                                           const context& ctx);

}  // namespace quern
