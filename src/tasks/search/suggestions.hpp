// SPDX-License-Identifier: Apache-2.0
// Suggestions for a query word that a store lacks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quern/tasks/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// search_answer::suggestions, for words missing from the index. Throws `interrupted` soon after the context's stop
/// flag is raised.
std::vector<suggested_words> suggest_words(const word_index& index, std::span<const std::string> unknown,
                                           std::size_t max, const context& ctx);

}  // namespace quern
