// SPDX-License-Identifier: Apache-2.0
// Upper bounds of the memory in which a judge (judge.hpp) judges a text, by the rules that are chosen. They follow from the
// sizes of what it keeps for each word and each line; vectors count twice while they grow, with what else is there then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "quern/ops/text_quality.hpp"

namespace quern::text_quality {

/// Bytes besides the text, never too few.
struct judge_memory {
    std::uint64_t a_byte = 0;  ///< of the text: copies without the lines dropped
    std::uint64_t a_word = 0;  ///< the tables of n-grams (repetition.hpp)
    std::uint64_t a_line = 0;  ///< those of lines and paragraphs
    bool finds_words = false;  ///< the caller's words (words.hpp) count in addition
};
judge_memory memory_of(const rule_choice& choice);

/// Upper bounds of how many words and lines a text has: for any division into words, each of which is between white space or a
/// symbol. A run of ASCII letters and digits is one word, as of letters of other alphabets; any other character may be one.
struct word_bounds {
    std::uint64_t words = 0;
    std::uint64_t symbols = 0;  ///< of these, those of ASCII
};
word_bounds words_at_most(std::string_view text);
std::uint64_t lines_at_most(std::string_view text);

}  // namespace quern::text_quality
