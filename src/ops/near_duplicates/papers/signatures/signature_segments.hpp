// SPDX-License-Identifier: Apache-2.0
// Pairs of signatures by segments that they share, for CUDA and for tests on the host: nvcc accepts constexpr functions as
// device code. docs/near_duplicates_signature.md ("Segments") proves that no pair is lost.
//
// The longer string y of a pair, or either of two of equal length, is cut into more segments than a pair of y may have
// edits. Segments 2 j and 2 j + 1 form unit j. There is a segment whose letters x has in sequence, that has s or s + 1 edits
// before it (segment s), and whose neighbour in the unit has at most one.
#pragma once

#include <cstdint>

namespace quern::near_duplicates_detail {

/// Letters of a segment that are compared first. A number below 2^18.
inline constexpr unsigned gram_letters = 3;
inline constexpr unsigned gram_bits = 6 * gram_letters;
constexpr std::uint32_t gram_of(const std::uint8_t* letters) {
    return std::uint32_t{letters[0]} << 12 | std::uint32_t{letters[1]} << 6 | letters[2];
}

/// How a string is cut: into segments of at least gram_letters.
struct segment_cut {
    unsigned length, count;
    constexpr unsigned begin(unsigned segment) const { return segment * length / count; }
    /// The last segment is a unit of its own if their number is odd.
    constexpr bool is_alone(unsigned segment) const { return segment + 1 == count && count % 2 == 1; }
};

/// The number of segments of a string of `length` letters; `most`: signature_bounds::at(2 · length). 0 if it is too short.
constexpr unsigned segments_of(unsigned length, int most) {
    const unsigned needed = most < 0 ? 1 : static_cast<unsigned>(most) + 1, even = needed + needed % 2;
    if (gram_letters * even <= length) return even;
    return gram_letters * needed <= length ? needed : 0;
}

/// The letters next to a gram, outwards from it, a byte each, the nearest lowest; no_letter beyond the ends of a string.
inline constexpr std::uint8_t no_letter = 0x40;
/// Marks a segment without a neighbour, which fits everything.
inline constexpr std::uint32_t fits_all = std::uint32_t{1} << 31;

/// The bytes of a word that the hexadecimal digits of `order` number, the last digit's lowest.
struct bytes_in_order {
    constexpr std::uint32_t operator()(std::uint32_t word, std::uint32_t order) const {
        std::uint32_t made = 0;
        for (unsigned b = 0; b < 4; ++b) made |= (word >> 8 * (order >> 4 * b & 3) & 255u) << 8 * b;
        return made;
    }
};

/// Whether three letters become the first of four others by at most one edit, or have two letters in common with them as
/// three that do: the first two, the last two, or the first and the last. `Ordered`: bytes_in_order or an instruction that
/// does the same. The highest byte of `three` does not matter but for fits_all.
template <class Ordered = bytes_in_order>
constexpr bool fits(std::uint32_t three, std::uint32_t four) {
    constexpr Ordered in_order{};
    constexpr std::uint32_t tops =
        0x80008000u;  // a difference is below it: the bit of a half remains if it is 0
    const std::uint32_t last_two = tops - (in_order(three, 0x2121) ^ in_order(four, 0x2110)),
                        last_or_first = tops - (in_order(three, 0x1021) ^ in_order(four, 0x1032)),
                        first_and_last = tops - (in_order(three, 0x2020) ^ in_order(four, 0x1020));
    return ((last_two | last_or_first | first_and_last) & tops) != 0 || (three & fits_all) != 0;
}

/// The same for several fours at once, with more that pass: the pairs of letters that a three which fits must have one of.
/// Numbers below 2^12.
constexpr unsigned letter_pair(std::uint32_t word, unsigned a, unsigned b) {
    return (word >> 8 * a & 63u) | (word >> 8 * b & 63u) << 6;
}
inline constexpr unsigned letter_pairs = 1u << 12;

/// Whether segment s of y may stand at `position` of x, where s edits or one more come before it and `most` are allowed.
constexpr bool may_stand(const segment_cut& y, unsigned s, unsigned x_length, unsigned position, int most) {
    const int shift = static_cast<int>(position) - static_cast<int>(y.begin(s));
    const int rest = static_cast<int>(x_length) - static_cast<int>(y.length) - shift;
    const int before = static_cast<int>(s), after = rest < 0 ? -rest : rest;
    return (shift < 0 ? -shift : shift) <= (before | 1) && before + after <= most;
}

/// Whether fewer than s edits suffice before segment s: an earlier segment then finds the pair.
constexpr bool is_repeat(const segment_cut& y, unsigned s, const std::uint8_t* y_letters,
                         const std::uint8_t* x_letters, unsigned position) {
    const unsigned begin = y.begin(s);
    const unsigned both = begin < position ? begin : position;
    unsigned edits = begin + position - 2 * both;
    for (unsigned k = 1; k <= both && edits < s; ++k)
        edits += y_letters[begin - k] != x_letters[position - k] ? 1 : 0;
    return edits < s;
}

}  // namespace quern::near_duplicates_detail
