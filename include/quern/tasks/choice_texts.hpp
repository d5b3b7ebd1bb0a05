// SPDX-License-Identifier: Apache-2.0
// Choices of a search in words, for pages and menus: in the order of the enumerators, so that a list has one line for each.
#pragma once

#include <iterator>
#include <string_view>

#include "quern/ops/search.hpp"
#include "quern/tasks/search.hpp"

namespace quern {

struct choice_text {
    std::string_view group;        ///< choices of one group follow each other in a menu; empty: none
    std::string_view name;         ///< as the field writes it
    std::string_view explanation;  ///< a sentence without a full stop
};

inline constexpr choice_text ranking_model_texts[] = {
    {"BM25", "BM25", "rare words count more, repeated words less and less, long documents less"},
    {"Query likelihood", "Jelinek-Mercer",
     "how likely the document is to produce the query, mixed with the whole collection by a fixed share"},
    {"Query likelihood", "Dirichlet",
     "how likely the document is to produce the query; short documents lean more on the whole collection"},
    {"Query likelihood", "two-stage",
     "Dirichlet, then Jelinek-Mercer: for long queries with many common words"},
    {"BM25", "BM25, Lucene", "BM25 with document lengths rounded as in Lucene"},
    {"BM25", "BM25, Robertson",
     "the original weight of a word: 0 for words in half of the documents or more"},
    {"BM25", "BM25, ATIRE", "a simpler weight of a word, never negative"},
    {"BM25", "BM25+", "a word that occurs counts for a minimum in documents of any length"},
    {"BM25", "BM25L", "long documents are favoured a little more than by BM25"},
    {"Divergence from randomness", "PL2",
     "words count by how far their occurrences are from chance (Poisson)"},
    {"Divergence from randomness", "InL2",
     "words count by how rare they are, times how often they occur against the length"},
    {"Learned weights", "Impact",
     "the weight of each word in the query times that in the document, as a model gave them"},
};
static_assert(std::size(ranking_model_texts) == std::size(ranking_model_names));

inline constexpr choice_text feedback_method_texts[] = {
    {"", "none", "only the words of the query"},
    {"", "RM3", "searches again with the likeliest words of the best documents"},
    {"", "Bo1", "searches again with the words that the best documents have more often than chance"},
};
static_assert(std::size(feedback_method_texts) == std::size(feedback_method_names));

inline constexpr choice_text dependence_model_texts[] = {
    {"", "none", "each word counts by itself"},
    {"", "SDM",
     "neighbouring words of the query also count as pairs, next to each other and near each other"},
};
static_assert(std::size(dependence_model_texts) == std::size(dependence_model_names));

}  // namespace quern
