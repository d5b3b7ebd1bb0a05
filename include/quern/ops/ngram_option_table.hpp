// SPDX-License-Identifier: Apache-2.0
// The options of n-gram likelihoods.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern {

template <>
inline constexpr auto options_of<ngram_options> = std::array{
    option_for<&ngram_options::order>("order", "N", {.min = 1, .max = max_ngram_order},
                                      "Maximum length of n-grams; shorter ones are written too."),
    option_for<&ngram_options::only>("only", "Write only n-grams of that length."),
    option_for<&ngram_options::min_count>("min_count", "N", {.min = 1},
                                          "Exclude n-grams with fewer occurrences in the collection."),
    option_for<&ngram_options::history_counts>("counts",
                                               "Also write the counts of the history: h(d) and h(C)."),
    option_for<&ngram_options::method>(
        "method", "NAME", ngram_method_names,
        "auto, strings, dictionary or suffix-sigma (CPU only); all but auto need "
        "everything in memory. The rows are the same."),
    option_for<&ngram_options::measure>("measure", "NAME", ngram_measure_names,
                                        "likelihood, or bm25 with the n-gram as a term."),
    option_for<&ngram_options::smoothing>(
        "smoothing", "RULE", ngram_smoothing_names,
        "How to smooth a document by the collection and, in a model, a longer history by a shorter one: jm "
        "(Jelinek-Mercer), dirichlet or absolute (discounting). kneser-ney: modified Kneser-Ney, only for a "
        "model of sentences."),
    option_for<&ngram_options::lambda>("lambda", "X", {.min = 0, .max = 1},
                                       "jm: weight of the document, 1 - X of the collection; in a model, of "
                                       "the longer history and of the shorter."),
    option_for<&ngram_options::mu>("mu", "X", {.min = 0, .max = 0x1p64},
                                   "dirichlet: pseudo-count of collection words added to each document."),
    option_for<&ngram_options::delta>("delta", "X", {.min = 0, .max = 1},
                                      "absolute: amount subtracted from each count."),
    option_for<&ngram_options::k1>("k1", "X", {.min = 0, .max = 0x1p64}, "bm25: term-frequency saturation."),
    option_for<&ngram_options::b>("b", "X", {.min = 0, .max = 1}, "bm25: document-length normalisation.")};

}  // namespace quern
