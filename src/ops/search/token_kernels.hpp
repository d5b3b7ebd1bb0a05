// SPDX-License-Identifier: Apache-2.0
// Searches the coded words of a document (token_code.hpp) with the vector registers of the current processor.
#pragma once

#include <cstdint>
#include <string_view>

namespace quern::search_detail {

struct occurrence_counts {
    std::uint32_t all = 0;       ///< including overlapping ones
    std::uint32_t followed = 0;  ///< those followed by another word
    friend bool operator==(const occurrence_counts&, const occurrence_counts&) = default;
};

/// The number of occurrences of `phrase` (one word or more, coded) in `words` (a document, coded). Reads nothing outside
/// the two. Cost: three loads for each vector of `words`, for any phrase, and a comparison where its first and last byte
/// match.
occurrence_counts count_occurrences(std::string_view words, std::string_view phrase);

/// One word of a phrase, and its frequency in a document.
struct anchor_word {
    std::uint32_t begin = 0, size = 0;  ///< its bytes in the phrase
    std::uint32_t frequency = 0;
};

/// The same, for a phrase with a word that the document contains exactly that often: searches for that word, compares the
/// phrase around it, and reads nothing after the word's last occurrence except the phrase. Cost: two loads for each vector
/// of `words` up to there, and a comparison where the word occurs.
occurrence_counts count_occurrences(std::string_view words, std::string_view phrase, anchor_word anchor);

/// The number of words in `words`.
std::uint64_t count_words(std::string_view words);

}  // namespace quern::search_detail
