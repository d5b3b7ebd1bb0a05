// SPDX-License-Identifier: Apache-2.0
// Looking through the coded words of a document (token_code.hpp) in the vector registers of the processor at hand.
#pragma once

#include <cstdint>
#include <string_view>

namespace quern::search_detail {

struct occurrence_counts {
    std::uint32_t all = 0;       ///< overlapping ones too
    std::uint32_t followed = 0;  ///< those with another word behind them
    friend bool operator==(const occurrence_counts&, const occurrence_counts&) = default;
};

/// How often `phrase` (one word or more, coded) stands in `words` (a document, coded). Nothing outside the two is read.
/// Cost: three loads for each vector of `words`, whatever the phrase, and a comparison where its first and last byte fit.
occurrence_counts count_occurrences(std::string_view words, std::string_view phrase);

/// One word of a phrase, and how often a document holds it.
struct anchor_word {
    std::uint32_t begin = 0, size = 0;  ///< its bytes in the phrase
    std::uint32_t frequency = 0;
};

/// The same, for a phrase one of whose words the document holds exactly so often: that word is looked for, the phrase
/// is compared around it, and nothing is read behind the word's last occurrence but the phrase.
/// Cost: two loads for each vector of `words` up to there, and a comparison where the word stands.
occurrence_counts count_occurrences(std::string_view words, std::string_view phrase, anchor_word anchor);

/// The number of words in `words`.
std::uint64_t count_words(std::string_view words);

}  // namespace quern::search_detail
