// SPDX-License-Identifier: Apache-2.0
// The options of word similarity: counting, weighting, comparing, and reduced vectors.
#pragma once

#include <array>
#include <string_view>

#include "quern/base/option.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern {

inline constexpr std::string_view skip_or_count[] = {"skip", "count"};

template <>
inline constexpr auto options_of<counting_options> = std::array{
    option_for<&counting_options::window>(
        "window", "N", {.min = 1, .max = 100},
        "A word co-occurs with the N words before and the N words after it."),
    option_for<&counting_options::relation>(
        "relation", "KIND", word_relation_names,
        "none (one relation for all positions in the window) or position (one for each distance)."),
    option_for<&counting_options::count_self>("self", "RULE", skip_or_count,
                                              "Co-occurrences of a word with itself: skip or count.")};

template <>
inline constexpr auto options_of<pmi_options> = std::array{
    option_for<&pmi_options::discount>("discount", "X", {.min = 0, .below = 1},
                                       "Subtracted from the count of a triple before weighting."),
    option_for<&pmi_options::information>("information", "KIND", pmi_kind_names,
                                          "Pointwise mutual information of word and context within the "
                                          "relation (conditional) or of word, relation and "
                                          "context (independent)."),
    option_for<&pmi_options::min_weight>("min_weight", "X", {.min = 0},
                                         "Keep only contexts with a weight above X.")};

template <>
inline constexpr auto options_of<similarity_options> = std::array{
    option_for<&similarity_options::columns>("columns", "F|all", {.min = 1, .all = all_columns},
                                             "Compare words by the F most frequent contexts only."),
    option_for<&similarity_options::top>("top", "K", {.min = 1}, "Neighbours per word."),
    option_for<&similarity_options::method>("method", "NAME", similarity_method_names,
                                            "How to compare words: auto, or as in Wang 2015 compressed or "
                                            "column-reduced (requires --columns). The results "
                                            "are bit-identical."),
    option_for<&similarity_options::blocks>("blocks", "N", {.max = 0x7fffffff},
                                            "compressed on a GPU: blocks of a launch; 0: our choice."),
    option_for<&similarity_options::threads>(
        "block_threads", "N", {.max = 1024},
        "compressed, column-reduced on a GPU: threads of a block; 0: our choice."),
    option_for<&similarity_options::tile_bytes>(
        "tile_bytes", "N", {},
        "compressed, and column-reduced on a GPU: maximum bytes of the scores of two tiles of words; 0: our "
        "choice.")};

template <>
inline constexpr auto options_of<svd_options> = std::array{
    option_for<&svd_options::dimensions>("vectors", "D", {.min = 1, .max = 4096},
                                         "Store vectors of D dimensions."),
    option_for<&svd_options::iterations>("iterations", "N", {.max = 64},
                                         "Maximum number of iterations of the block Krylov method.")};

}  // namespace quern
