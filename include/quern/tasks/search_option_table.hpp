// SPDX-License-Identifier: Apache-2.0
// The options of a search besides those of the ranking (quern/ops/search_option_table.hpp).
#pragma once

#include <array>
#include <limits>
#include <string_view>

#include "quern/base/option.hpp"
#include "quern/ops/search_option_table.hpp"
#include "quern/tasks/search.hpp"

namespace quern {

inline constexpr std::string_view off_or_on[] = {"off", "on"};

template <>
inline constexpr auto options_of<search_options> = std::array{
    option_for<&search_options::k>("k", "N", {.min = 1, .all = std::numeric_limits<std::size_t>::max()},
                                   "Results per query; all writes the complete ranking.")
        .with_letter('k'),
    option_for<&search_options::offset>("offset", "N", {}, "Results to skip, for paging."),
    option_for<&search_options::snippets>("snippets", "Whether hits contain the best matching passage."),
    option_for<&search_options::duplicates>("duplicates", "Whether hits list their near-duplicates."),
    option_for<&search_options::phrases>("phrases", "on|off", off_or_on,
                                         "Read text in double quotes as a phrase: every result contains its "
                                         "words next to each other, and they score as one word."),
    option_for<&search_options::syntax>("syntax", "SYNTAX", query_syntax_names,
                                        "What a query is: words (with phrases in quotes); operators (+word, "
                                        "-word, \"a phrase\"~2, prefix*, title:word, AND, OR, NOT, "
                                        "parentheses; anything else is an error); or auto: operators if the "
                                        "query has one and can be read so, else words."),
    option_for<&search_options::typos>("typos", "MODE", typo_tolerance_names,
                                       "Find words with typos: never; auto, for words that no document "
                                       "contains; 1 or 2, for all words, with at most that many edits. A "
                                       "word needs four characters for one edit, eight for two. "
                                       "Documents with the word itself come first."),
    option_for<&search_options::prefix_last>("prefix_last",
                                             "Treat the last word as unfinished: also find words that begin "
                                             "with it."),
    option_for<&search_options::fold>(
        "fold", "RULE", folding_names,
        "accents: words also find those that differ from them by accents alone, in a "
        "store that was built without --fold."),
    option_for<&search_options::total>("total", "Also count all documents that the query finds."),
    option_for<&search_options::count>("count",
                                       "Only count the documents that the query finds, without ranking "
                                       "them."),
    option_for<&search_options::filter>(
        "filter", "EXPR",
        "Only documents whose kept fields satisfy this: lang = de AND price < 10, tag IN (a, b), year "
        "BETWEEN "
        "1990 AND "
        "1999, NOT, OR, parentheses, field EXISTS, field STARTS WITH text. Scores do not change."),
    option_for<&search_options::sort>(
        "sort", "FIELDS",
        "Order by kept fields instead of the score: price,-date (with - large values "
        "first); documents without a value come last."),
    option_for<&search_options::facets>(
        "facets", "FIELDS",
        "Count the values of kept fields over all documents that the query finds: lang,tag."),
    option_for<&search_options::facet_values>("facet_values", "N",
                                              {.all = std::numeric_limits<std::size_t>::max()},
                                              "Values per facet, the most frequent ones; all shows all."),
    option_for<&search_options::field_weights>(
        "field_weights", "FIELD=X,...",
        "BM25F: weights of the title, the text and the indexed fields (--index-fields), as in "
        "title=3,text=1,abstract=2; 1 for a field that is not named. Occurrences are weighted before "
        "saturation. Only with the model bm25; titles then get no bonus."),
    option_for<&search_options::field_b>(
        "field_b", "FIELD=X,...",
        "BM25F: length normalisation by field, title=0.2,text=0.75; otherwise that of b."),
    option_for<&search_options::order>("order", "N", {.min = 1, .max = max_query_order},
                                       "Likelihood models: order of the n-gram model. A word's likelihood "
                                       "depends on the N - 1 query words before it."),
    option_for<&search_options::ngrams>(
        "order_model", "NAME", order_model_names,
        "With --order: interpolated (the likelihoods of the word and of the n-grams that end with it, "
        "weighted) or history (after the longest history that the collection has; only ql)."),
    option_for<&search_options::order_weights>(
        "order_weights", "X...",
        "With --order: weights of pairs, of three words and so on, separated by blanks; of single words 1. "
        "The last one holds for all longer n-grams."),
    option_for<&search_options::explain>("explain",
                                         "Show each term's contribution to each score: below the results in "
                                         "a table, as a last column explanation in "
                                         "TSV and JSON lines."),
    same_option<&search_options::prior>(option_of<document_prior>("prior")),
    option_for<&search_options::expand>("expand", "N", {.max = 1000},
                                        "Number of similar words by which to expand each unquoted word, at "
                                        "most as many as the thesaurus stores per "
                                        "word (20). Requires a store with a thesaurus."),
    option_for<&search_options::expand_weight>(
        "expand_weight", "X", {.above = 0, .max = 1},
        "Weight of a similar word, multiplied by its similarity. A word of the query has weight 1."),
    option_for<&search_options::like_weight>("like_weight", "X", {.above = 0, .max = 100},
                                             "Weight of the cosine with the --like document in a score.")
        .with_note("1 without a query"),
    option_for<&search_options::feedback>(
        "feedback", "METHOD", feedback_method_names,
        "Search again with words of the best documents: rm3 (relevance model) or bo1 (Bose-Einstein)."),
    option_for<&search_options::feedback_documents>("feedback_documents", "N", {.min = 1, .max = 1000},
                                                    "Best documents from which --feedback takes words."),
    option_for<&search_options::feedback_terms>("feedback_terms", "N", {.min = 1, .max = 10'000},
                                                "Words that --feedback takes."),
    option_for<&search_options::original_weight>(
        "original_weight", "X", {.min = 0, .max = 1},
        "Weight of the query's own words with --feedback; the others have 1 - X."),
    option_for<&search_options::dependence>(
        "dependence", "MODEL", dependence_model_names,
        "sdm, the sequential dependence model: neighbouring words of the query also count as pairs, next to "
        "each other and near each other. Usually combined with --model dirichlet."),
    option_for<&search_options::ordered_weight>("ordered_weight", "X", {.above = 0, .below = 1},
                                                "Weight of pairs next to each other, with --dependence; "
                                                "single words get the remainder up to 1."),
    option_for<&search_options::unordered_weight>("unordered_weight", "X", {.above = 0, .below = 1},
                                                  "Weight of pairs near each other, with --dependence."),
    option_for<&search_options::window>("window", "N", {.min = 2, .max = 1000},
                                        "Words within which a pair is near, with --dependence."),
    option_for<&search_options::similarity>(
        "vector_metric", "NAME", vector_metric_names,
        "Hybrid search: what is near to the query vector: cosine, ip (inner product), l2, sql2, l1 or linf."),
    option_for<&search_options::fusion>(
        "fusion", "RULE", fusion_rule_names,
        "Hybrid search: how the rankings of the words and of the vectors become "
        "one: rrf (reciprocal ranks), sum, min, max, mean, median, mnz, anz or "
        "borda."),
    option_for<&search_options::fusion_normalize>("fusion_normalize", "HOW", score_normalisation_names,
                                                  "Hybrid search: normalisation of the scores of each "
                                                  "ranking, for rules other than rrf and borda: none, "
                                                  "minmax, zscore, sum or rank."),
    option_for<&search_options::fusion_constant>(
        "fusion_constant", "C", {.min = 0, .max = 1e6},
        "Hybrid search: constant of reciprocal ranks, 1 / (C + rank)."),
    option_for<&search_options::vector_weight>(
        "vector_weight", "X", {.min = 0, .max = 1e6},
        "Hybrid search: weight of the vectors' ranking; that of the words has 1."),
    option_for<&search_options::fusion_depth>(
        "fusion_depth", "N", {.min = 1, .all = std::numeric_limits<std::size_t>::max()},
        "Hybrid search: number of documents fused from each ranking, at "
        "least as many as -k; all: the complete rankings."),
    option_for<&search_options::suggestions>(
        "suggestions", "N", {}, "Number of words to suggest for each word that the store lacks.")};

template <>
inline constexpr auto options_of<completion_options> = std::array{
    option_for<&completion_options::k>("k", "N", {.min = 1, .all = std::numeric_limits<std::size_t>::max()},
                                       "Number of words; all writes all of them.")
        .with_letter('k'),
    option_for<&completion_options::typos>(
        "typos", "MODE", typo_tolerance_names,
        "If no word begins with the text, complete it by words that begin with something similar: never; "
        "auto "
        "(one edit from four characters, two from eight); 1 or 2 (at most that many).")};

}  // namespace quern
