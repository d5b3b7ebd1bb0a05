// SPDX-License-Identifier: Apache-2.0
// Words as bytes: the stored form of a document's words, in their order. Every code ends with its only byte of 128 or more (an
// end-tagged dense code: Brisaboa, Fariña, Navarro and Paramá 2007). So concatenated codes can be cut anywhere, and a
// phrase is found as a byte string, without decoding. The most frequent words have codes of one and two bytes; the others
// contain their id. docs/formats.md has the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::search_detail {

/// Whether a byte of coded words is the last one of a word.
constexpr bool ends_a_word(char byte) {
    return (static_cast<unsigned char>(byte) & 0x80) != 0;
}

/// The code of one word: `size` bytes.
struct codeword {
    static constexpr std::size_t longest = 5;
    char bytes[longest + 2] = {};  // with its size one register
    std::uint8_t size = 0;
    std::string_view text() const { return {bytes, size}; }
};

/// Picks the words with short codes: the most frequent 128, then the next 16,384; among equal frequencies the lower id
/// comes first. Memory: constant.
class frequent_words {
  public:
    /// For word 0, word 1 … in turn.
    void add(std::uint64_t collection_frequency);
    /// Those of one byte, then those of two, each ascending.
    std::vector<std::uint32_t> finish();

  private:
    struct candidate {
        std::uint64_t frequency;
        std::uint32_t word;
    };
    static bool before(const candidate& a, const candidate& b) {
        return a.frequency != b.frequency ? a.frequency > b.frequency : a.word < b.word;
    }
    void select();

    std::vector<candidate> candidates_;
    std::uint64_t too_few_ = 0;  // a frequency that is too low
    std::uint32_t words_ = 0;
};

/// Thread-safe. Reading throws damaged_store if bytes are not a code of this collection.
class token_code {
  public:
    static constexpr std::size_t one_byte_words = 128, two_byte_words = 128 * 128;

    /// `frequent` is the result of frequent_words for a collection of `vocabulary` words; throws damaged_store if it is
    /// impossible. It must outlive the code.
    token_code(std::span<const std::uint32_t> frequent, std::uint32_t vocabulary);

    std::uint32_t vocabulary() const { return vocabulary_; }
    codeword of(std::uint32_t word) const;
    /// The codes of `words`, which ascend: faster than of() for each.
    std::vector<codeword> of_rising(std::span<const std::uint32_t> words) const;

    /// Appends the words of `coded` to `words`.
    void decode(std::string_view coded, std::vector<std::uint32_t>& words) const;

  private:
    std::span<const std::uint32_t> one_byte_, two_bytes_;
    std::uint32_t vocabulary_;
};

// Searches in the coded words of a document, with the vector registers of the current processor.

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
