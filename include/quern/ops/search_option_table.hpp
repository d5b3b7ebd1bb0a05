// SPDX-License-Identifier: Apache-2.0
// The options of a ranking and of a prior.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/search.hpp"

namespace quern {

template <>
inline constexpr auto options_of<ranking_options> = std::array{
    option_for<&ranking_options::model>("model", "MODEL", ranking_model_names,
                                        "bm25, or a variant of it: lucene, robertson, atire, bm25+, bm25l; "
                                        "query likelihood: ql (Jelinek-Mercer), dirichlet or two-stage "
                                        "(Dirichlet, then Jelinek-Mercer); divergence from randomness: "
                                        "pl2, inl2."),
    option_for<&ranking_options::k1>("k1", "X", {.min = 0, .max = 0x1p64},
                                     "bm25 and its variants: term-frequency saturation."),
    option_for<&ranking_options::b>("b", "X", {.min = 0, .max = 1},
                                    "bm25 and its variants: document-length normalisation."),
    option_for<&ranking_options::mu>(
        "mu", "X", {.min = 0x1p-64, .max = 0x1p64},
        "dirichlet, two-stage: pseudo-count of collection words added to each document."),
    option_for<&ranking_options::lambda>(
        "lambda", "X", {.above = 0, .below = 1},
        "ql, two-stage: weight of the document model, 1 - X of the collection model."),
    option_for<&ranking_options::delta>("delta", "X", {.min = 0, .max = 10},
                                        "bm25+, bm25l: what an occurrence adds in a document of any length; "
                                        "common values are 1 for bm25+, 0.5 for bm25l."),
    option_for<&ranking_options::c>("c", "X", {.min = 0x1p-64, .max = 0x1p64},
                                    "pl2, inl2: document-length normalisation; higher is weaker."),
    option_for<&ranking_options::title_weight>(
        "title_weight", "X", {.min = 0, .max = 100},
        "Bonus for a query word in a document's title, in units of the word's idf.")};

template <>
inline constexpr auto options_of<document_prior> = std::array{
    option_for<&document_prior::weight>("prior", "X", {.min = 0, .max = 100},
                                        "Weight of a document's link rank: adds X times the logarithm of its "
                                        "rank over the average rank to its score; "
                                        "0.05 is a good choice. Requires a store with link ranks."),
    option_for<&document_prior::unit>("unit", "X", {.min = 0x1p-126, .max = 0x1p62}, "Unit of ranks.")};

}  // namespace quern
