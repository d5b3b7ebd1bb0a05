// SPDX-License-Identifier: Apache-2.0
// Queries of plain words, perhaps with + or - before some, or of one phrase: they need neither a plan nor the dictionary if
// their words are known (known_words.hpp).
#pragma once

#include <string_view>

#include "quern/tasks/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// Whether results with these options need no more of a query of plain words than the lists of its words.
bool finds_plain_words(const opened_store& store, const search_options& options);

/// The form of a query, by its characters.
enum class plain_kind {
    other,   ///< needs the parser, or may
    words,   ///< words without any quote or operator
    signs,   ///< words, some with a + or - before them
    phrase,  ///< words between two quotation marks
};
plain_kind plain_kind_of(std::string_view query, query_syntax syntax);

}  // namespace quern
