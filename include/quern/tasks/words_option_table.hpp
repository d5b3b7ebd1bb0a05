// SPDX-License-Identifier: Apache-2.0
// The options of a word space besides those of word similarity (quern/ops/word_similarity_option_table.hpp).
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/word_similarity_option_table.hpp"
#include "quern/tasks/words.hpp"

namespace quern {

/// The value of --top all: the similarities of all pairs are stored, too.
inline constexpr std::uint32_t top_of_all_pairs = unknown_word;

template <>
inline constexpr auto options_of<space_params> = std::array{
    option_for<&space_params::window_end>("window_end", "END", window_limit_names,
                                          "Windows end at the end of a paragraph or of a sentence."),
    option_for<&space_params::gaps>("gaps", "POLICY", gap_policy_names,
                                    "How to treat a removed stop word or short word: close (its neighbours "
                                    "become adjacent) or keep (its position "
                                    "stays empty). A word outside the vocabulary always keeps its position."),
    option_for<&space_params::min_count>("min_count", "N", {.min = 1},
                                         "Vocabulary: only words that occur at least N times."),
    option_for<&space_params::vocabulary>("vocabulary", "N", {.min = 2, .max = unknown_word - 2},
                                          "Vocabulary: at most N words, the most frequent ones."),
    same_option<&space_params::columns>(option_of<similarity_options>("columns")),
    option_for<&space_params::measure>("measure", "NAME", word_measure_names,
                                       "lin (the share of the two words' information that they have in "
                                       "common), cosine (of their weights), lsa (of "
                                       "vectors from a singular value decomposition), jaccard, "
                                       "weeds (precision and recall), jensen-shannon or skew."),
    option_for<&space_params::top>(
        "top", "K|all", {.all = top_of_all_pairs},
        "Neighbours to store per word; all stores 20 and also the scores of all pairs, "
        "SPACE/similarities.npy, 8 bytes "
        "each. 0 stores none and saves most of the time: quern similar computes the requested ones."),
    option_for<&space_params::dimensions>("vectors", "D",
                                          {.max = option_of<svd_options>("vectors").whole.max},
                                          "Store vectors of D dimensions; 0: none.")
        .with_note("300 with lsa"),
    option_for<&space_params::lsa_of>("lsa_of", "MATRIX", reduced_matrix_names,
                                      "Matrix to decompose: mi (words by contexts) or documents (words by "
                                      "documents, log-entropy weights)."),
    option_for<&space_params::lsa_words>("lsa_words", "N|all", {.min = 1, .all = all_words},
                                         "Use a sample of documents, evenly spread, with about N words in "
                                         "total. For corpora that would not fit in "
                                         "memory."),
    option_for<&space_params::lsa_measure>("lsa_measure", "NAME", vector_measure_names,
                                           "How lsa compares vectors: cosine or pearson.")};

template <>
inline constexpr auto options_of<words_options> =
    std::array{same_option<&words_options::method>(option_of<similarity_options>("method")),
               same_option<&words_options::blocks>(option_of<similarity_options>("blocks")),
               same_option<&words_options::block_threads>(option_of<similarity_options>("block_threads")),
               same_option<&words_options::tile_bytes>(option_of<similarity_options>("tile_bytes"))};

}  // namespace quern
