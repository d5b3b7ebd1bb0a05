// SPDX-License-Identifier: Apache-2.0
// Matrices of words and contexts like those of the English Wikipedia, and the vocabularies of the thesis's table 5.1
// (docs/papers/wang-2015.md).
#pragma once

#include <cstdint>

#include "quern/ops/word_similarity.hpp"

namespace quern::generator {

/// A word's row length and a context's by rank, as the English Wikipedia has them (308 MB, 100,000 words, positional:
/// 78.8 M entries, mean 788, median 117, longest 104,086; 1.28e11 multiply-adds, of which the 4,096 fullest columns
/// hold 62 % and the 16,384 fullest 88 %): powers of the rank. Which contexts a word has is drawn by these alone.
context_matrix word_contexts(std::uint32_t words);

/// The first words, and their contexts among themselves, as a corpus with a smaller vocabulary has them: `share` of the
/// whole matrix's entries at most. (Frequent words have fewer weights above 0 with each other than drawing gives them.)
context_matrix first_words(const context_matrix& whole, std::uint32_t words, double share);

/// The thesis's vocabularies, after a small one, and which share of a real matrix's entries they have.
struct vocabulary {
    std::uint32_t words;
    double share;
};
inline constexpr vocabulary thesis_vocabularies[] = {{1'000, 0.03},  {5'000, 0.20},  {10'000, 0.38},
                                                     {20'000, 0.63}, {50'000, 0.89}, {100'000, 1}};

}  // namespace quern::generator
