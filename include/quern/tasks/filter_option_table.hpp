// SPDX-License-Identifier: Apache-2.0
// The options of filter.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/tasks/filter.hpp"

namespace quern {

template <>
inline constexpr auto options_of<filter_options> = std::array{
    option_for<&filter_options::words>("words", "SPLIT", word_split_names,
                                       "What the rules count as words. unicode: Unicode's word boundaries, "
                                       "and every other character that is not white space as a word of "
                                       "its own; whitespace: what white space separates."),
    option_for<&filter_options::language_score>(
        "language_score", "SHARE", {.min = 0, .max = 1},
        "With --language: the minimum share of the text that must be in the language."),
    option_for<&filter_options::perplexity>("perplexity", "MODEL",
                                            "After the rules, remove documents by the perplexity of this "
                                            "language model, as quern perplexity computes it."),
    option_for<&filter_options::below>(
        "below", "X", {.above = 0},
        "With --perplexity: keep documents below X; one without words is removed."),
    option_for<&filter_options::above>("above", "X", {.min = 0},
                                       "With --perplexity: keep documents above X."),
    option_for<&filter_options::below_percentile>(
        "below_percentile", "P", {.min = 0, .max = 100},
        "With --perplexity: keep documents up to the P-th percentile of those of --reference."),
    option_for<&filter_options::above_percentile>(
        "above_percentile", "P", {.min = 0, .max = 100},
        "With --perplexity: keep documents above the P-th percentile of those of --reference."),
    option_for<&filter_options::measure>("perplexity_measure", "NAME", perplexity_measure_names,
                                         "With --perplexity: what the limits are compared with."),
    option_for<&filter_options::words_of_model>("model_words", "NAME", model_words_names,
                                                "With --perplexity: how texts become words, as for the "
                                                "model: a rule of --tokens, or tokenized: words are "
                                                "between white space, and sentences are lines."),
    option_for<&filter_options::sample_removed>("sample_removed", "N", {.min = 0, .max = 1000},
                                                "Examples of each rule in the report: the first N documents "
                                                "that it removed, and N by a hash of their ids.")};

}  // namespace quern
