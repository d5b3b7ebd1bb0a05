// SPDX-License-Identifier: Apache-2.0
// The options of dedup_parts.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/tasks/dedup_parts.hpp"

namespace quern {

template <>
inline constexpr auto options_of<dedup_parts_options> = std::array{
    option_for<&dedup_parts_options::level>(
        "level", "LEVEL", dedup_level_names,
        "What to compare: whole documents or parts of them. A part that occurred before, in an earlier "
        "document or earlier in the same one, is cut; the rest is written. line and paragraph (between blank "
        "lines): equal except for white space at both ends; substring: any equal text of --min-length code "
        "points or more, at any place."),
    option_for<&dedup_parts_options::min_length>("min_length", "N", {.min = 1, .max = max_part_length},
                                                 "With --level paragraph, line or substring: cut only parts "
                                                 "of at least N code points. With a method that compares "
                                                 "words: drop words of fewer characters."),
    option_for<&dedup_parts_options::whole_words>("whole_words",
                                                  "--level substring: shrink each cut to whole words; drop "
                                                  "those with fewer than --min-length code points "
                                                  "then.")};

}  // namespace quern
