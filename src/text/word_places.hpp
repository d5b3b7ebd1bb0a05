// SPDX-License-Identifier: Apache-2.0
// Where some words may be in a text: the parts to analyse if only these words matter, as for a snippet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/text_options.hpp"

namespace quern::text {

/// Two bytes of a word, `distance` apart; `first_case` is 0x20 if the first one is a letter, so that byte | first_case is
/// in lower case.
struct byte_pair {
    std::uint8_t first, first_case, last, last_case;
    std::uint32_t distance;
};

/// Marks in bits[b] those of the bytes [64 b, 64 b + 64) at `from` where one of the pairs stands, in any case, or that are
/// beyond ASCII. The bytes up to 64 · blocks + the longest distance are read.
void mark_pairs(const char* from, std::size_t blocks, std::span<const byte_pair> pairs, std::uint64_t* bits);

/// Not thread-safe. The words must outlive it.
class word_places {
  public:
    struct part {
        std::size_t begin, end;
    };

    /// Whether words of ASCII are recognised by their bytes: by Unicode's rules, unchanged but for their case.
    static bool can_recognise(const text_options& options);
    /// Words as an analyzer gives them. With many of them it is cheaper to analyse the whole text.
    static constexpr std::size_t max_words = 16;
    explicit word_places(std::span<const std::string> words);

    /// The parts of a text, in order, that have every occurrence of the words that an analyzer with such options gives.
    /// They begin and end at boundaries of words, so that analysing a part gives the same words there as analysing the text.
    /// Valid until the next call. Cost: one pass over the bytes.
    std::span<const part> find(std::string_view text);

  private:
    static constexpr std::size_t max_distance = 31;

    std::size_t match_at(std::string_view text, std::size_t at) const;
    void add(std::string_view text, std::size_t begin, std::size_t end);

    std::vector<std::string_view> words_;  // of ASCII
    std::vector<byte_pair> pairs_;
    std::vector<std::uint64_t> bits_;
    std::vector<part> parts_;
};

}  // namespace quern::text
