// SPDX-License-Identifier: Apache-2.0
// The edit distance of two signatures, one column of the table at a time in words of 64 bits (Myers 1999, in the form of
// Hyyrö 2003). For every compiler and place: nvcc accepts constexpr functions as device code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::near_duplicates_detail {

/// The distance of a pattern of 1 to 64 · Words letters and a text, or some number above `bound` if it is larger.
/// `matches(letter, word)`: bit i is 1 if the pattern's letter 64 · word + i is `letter`; bits past the pattern's end do
/// not matter.
template <unsigned Words, class Matches>
constexpr int bit_distance(const Matches& matches, unsigned pattern_length, const std::uint8_t* text,
                           unsigned text_length, int bound) {
    std::uint64_t rises[Words], falls[Words];  // where the column goes up and down by one
    for (unsigned w = 0; w < Words; ++w) {
        rises[w] = ~std::uint64_t{0};
        falls[w] = 0;
    }
    const unsigned last_word = (pattern_length - 1) / 64, last_bit = (pattern_length - 1) % 64;
    int score = static_cast<int>(pattern_length);
    for (unsigned j = 0; j < text_length; ++j) {
        std::uint64_t right_rises = 1,
                      right_falls = 0;  // what enters a word from the previous one; row 0 rises
        for (unsigned w = 0; w < Words; ++w) {
            const std::uint64_t rise = rises[w], fall = falls[w];
            std::uint64_t equal = matches(text[j], w);
            const std::uint64_t vertical = equal | fall;
            equal |= right_falls;
            const std::uint64_t horizontal = (((equal & rise) + rise) ^ rise) | equal;
            std::uint64_t across_rises = fall | ~(horizontal | rise), across_falls = rise & horizontal;
            if (w == last_word) {
                score += static_cast<int>(across_rises >> last_bit & 1);
                score -= static_cast<int>(across_falls >> last_bit & 1);
            }
            const std::uint64_t out_rises = across_rises >> 63, out_falls = across_falls >> 63;
            across_rises = across_rises << 1 | right_rises;
            across_falls = across_falls << 1 | right_falls;
            rises[w] = across_falls | ~(vertical | across_rises);
            falls[w] = across_rises & vertical;
            right_rises = out_rises;
            right_falls = out_falls;
        }
        if (score - static_cast<int>(text_length - 1 - j) > bound) return score;  // and it is above, too
    }
    return score;
}

// The filter of signature_join.hpp with the vector registers of the current processor.

/// Codes by planes: bits of words[n · stride + row] mark the letters that the row has n + 1 times or more.
struct code_planes {
    const std::uint64_t* words;
    std::size_t stride;
    unsigned levels;  ///< even
};

/// Two rows that the filter does not exclude.
struct row_pair {
    std::uint32_t a, b;
};

/// Compares rows [a_begin, a_end) with rows [b_begin, b_end), with `triangle` only those after the first row itself. Writes
/// the pairs whose codes differ in at most `limit` bits to `pairs` (which must hold all); returns their number. Ascending
/// by (a, b).
std::size_t filter_rows(const code_planes& codes, std::uint32_t a_begin, std::uint32_t a_end,
                        std::uint32_t b_begin, std::uint32_t b_end, bool triangle, std::uint64_t limit,
                        row_pair* pairs);

}  // namespace quern::near_duplicates_detail
