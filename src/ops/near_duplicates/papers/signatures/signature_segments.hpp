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
/// Marks a segment without a neighbour, which fits everything. Set in the first argument of fits().
inline constexpr std::uint32_t fits_all = std::uint32_t{1} << 31;

/// Whether three letters become the first of four others by at most one edit (and a few more, not many): bit 7. The highest
/// byte of `three` does not matter but for fits_all.
constexpr std::uint32_t fit_bits(std::uint32_t three, std::uint32_t four) {
    constexpr std::uint32_t tops =
        0x80808080u;  // a byte of a difference is below it: bit 7 remains if it is 0
    const std::uint32_t same = tops - (three ^ four), removed = tops - (three >> 8 ^ four),
                        inserted = tops - (three ^ four >> 8);
    const std::uint32_t same_2 = same >> 8, same_3 = same >> 16, removed_2 = removed >> 8;
    return (same & (same_2 | same_3 | removed_2)) | (same_2 & same_3) | (removed & removed_2) |
           (inserted >> 8 & inserted >> 16 & (same | inserted)) | three >> 24;
}
constexpr bool fits(std::uint32_t three, std::uint32_t four) {
    return (fit_bits(three, four) & 0x80u) != 0;
}

/// The bytes of a word that the hexadecimal digits of `order` number, the last digit's lowest.
struct bytes_in_order {
    constexpr std::uint32_t operator()(std::uint32_t word, std::uint32_t order) const {
        std::uint32_t made = 0;
        for (unsigned b = 0; b < 4; ++b) made |= (word >> 8 * (order >> 4 * b & 3) & 255u) << 8 * b;
        return made;
    }
};

/// A faster test that passes whatever fits() passes, and a fifth more: three letters with at most one edit have two in
/// common with the four, each two of which in half a word are compared with half a word at once. `Ordered`: bytes_in_order or
/// an instruction that does the same.
template <class Ordered = bytes_in_order>
struct letter_pairs {
    std::uint32_t first, second, third;
    constexpr explicit letter_pairs(std::uint32_t four)
        : first(Ordered{}(four, 0x2110)), second(Ordered{}(four, 0x1032)), third(Ordered{}(four, 0x1020)) {}

    /// Some bits of either_half are set if `three`, not marked by fits_all, may fit. Results may be united by |.
    constexpr std::uint32_t shared_with(std::uint32_t three) const {
        // A difference is below 2^15: the highest bit of a half remains if it is 0.
        return (either_half - (Ordered{}(three, 0x2121) ^ first)) |
               (either_half - (Ordered{}(three, 0x1021) ^ second)) |
               (either_half - (Ordered{}(three, 0x2020) ^ third));
    }
    static constexpr std::uint32_t either_half = 0x80008000u;
};
/// Three bytes that are no letters.
inline constexpr std::uint32_t no_three = 0x007f7f7fu;

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
