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

}  // namespace quern::search_detail
