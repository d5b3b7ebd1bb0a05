// SPDX-License-Identifier: Apache-2.0
// The options of a dictionary.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/tasks/dictionary.hpp"

namespace quern {

template <>
inline constexpr auto options_of<dictionary_options> = std::array{
    option_for<&dictionary_options::min_count>("min_count", "N", {.min = 1},
                                               "Exclude words with fewer occurrences."),
    option_for<&dictionary_options::vocabulary>("vocabulary", "N|all", {.min = 1, .all = 0},
                                                "Maximum number of words: keep the most frequent ones."),
    option_for<&dictionary_options::titles>("titles",
                                            "Count the words of a document's title and then those of its "
                                            "text, as in a store. Without it only those of "
                                            "the text.")};

}  // namespace quern
