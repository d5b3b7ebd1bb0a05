// SPDX-License-Identifier: Apache-2.0
// The positions of the rules in their table (rules.cpp).
#pragma once

#include <cstdint>

namespace quern::rule_numbers {

enum : std::uint32_t {
    min_characters,
    max_characters,
    min_words,
    max_words,
    min_mean_word_length,
    max_mean_word_length,

    gopher_min_words,
    gopher_max_words,
    gopher_min_mean_word_length,
    gopher_max_mean_word_length,
    gopher_max_hashes,
    gopher_max_ellipses,
    gopher_max_bullet_lines,
    gopher_max_ellipsis_lines,
    gopher_min_words_with_letter,
    gopher_min_stop_words,
    gopher_stop_words,

    repetition_min_characters,
    duplicate_paragraphs,
    duplicate_paragraph_characters,
    duplicate_lines,
    duplicate_line_characters,
    top_2_gram,
    top_3_gram,
    top_4_gram,
    duplicate_5_grams,
    duplicate_10_grams = duplicate_5_grams + 5,

    c4_bad_words,
    c4_max_word_length,
    c4_citations,
    c4_terminal_punctuation,
    c4_min_line_words,
    c4_lorem_ipsum,
    c4_javascript,
    c4_curly_bracket,
    c4_policy,
    c4_min_sentences,

    min_paragraphs,
    paragraph_characters,

    fineweb_min_lines,
    fineweb_line_punctuation,
    fineweb_short_lines,
    fineweb_duplicate_line_characters,
    fineweb_line_ends,
    fineweb_short_line_characters,

    refinedweb_uppercase_lines,
    refinedweb_number_lines,
    refinedweb_counter_lines,
    refinedweb_one_word_lines,
    refinedweb_dropped_words,

    count
};

}  // namespace quern::rule_numbers
