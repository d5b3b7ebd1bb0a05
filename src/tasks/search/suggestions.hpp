// SPDX-License-Identifier: Apache-2.0
// What the user may have meant by a word that a store lacks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quern/tasks/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// search_answer::suggestions, for words that the index lacks. Throws `interrupted` soon after the run's stop flag is raised.
std::vector<suggested_words> suggest_words(const word_index& index, std::span<const std::string> unknown,
                                           std::size_t most, const context& run);

}  // namespace quern
