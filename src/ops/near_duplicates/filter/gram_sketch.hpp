// SPDX-License-Identifier: Apache-2.0
// Two bitmaps of a text, from which follows a lower bound of its edit distance to other texts.
//
// A rule assigns a gram to each position of a text: the next 3 to 6 units, as few as are rare in texts of that length,
// or no gram where even 6 (5 in short texts) are frequent. It depends only on these units. A gram is hashed to a number; its j-th occurrence
// in a text is the key (number, j).
//
// `all` of a text b has a bit for each key of all positions. `disjoint` of a text a has one for each key of the grams that
// a walk from left to right meets, which do not overlap; j counts only these. An edit changes at most one of the disjoint grams; the others
// are still in b, with their units and therefore with their gram. So, if a and b are d edits apart, at most d bits of
// `disjoint` of a are missing in `all` of b:
//     population(disjoint_a) - population(disjoint_a & all_b) <= d.
// Keys that share a bit, numbers that several grams share and occurrences beyond the 255th only lower the left side.
//
// Overlapping q-grams on both sides, as in Ukkonen 1992, lose q grams for each edit. Disjoint ones lose one, so that the same
// bound needs about an eighth of the bits (docs/near_duplicates.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"

namespace quern::near_duplicates_detail {

/// Texts of 2^s to 2^(s+1) - 1 units have scale s, shorter ones than 2^6 scale 6. Only bitmaps of one scale can be compared.
constexpr unsigned min_scale = 6, max_scale = 31;
constexpr unsigned scale_of(std::uint64_t length) {
    unsigned s = min_scale;  // std::bit_width() is wrong in device code
    for (length >>= min_scale + 1; length != 0; length >>= 1) ++s;
    return s;
}
/// From here on texts share so many grams that they need more bits a unit.
constexpr unsigned long_scale = 12;
/// The binary logarithm of the size of a bitmap: 2 to 4 bits for each unit of a text, twice and four times as many for long
/// texts; at most 1 MiB.
constexpr unsigned bitmap_log(unsigned scale) {
    const unsigned log = scale < 9             ? 11
                         : scale < long_scale  ? scale + 2
                         : scale == long_scale ? scale + 3
                                               : scale + 4;
    return log < 23 ? log : 23;
}
constexpr std::size_t bitmap_bits(unsigned scale) {
    return std::size_t{1} << bitmap_log(scale);
}
constexpr std::size_t bitmap_words(unsigned scale) {
    return bitmap_bits(scale) / 64;
}

/// Units as bytes: bytes as they are, other code points by a hash. Merging units never increases a distance.
constexpr std::uint8_t folded(std::uint8_t unit) {
    return unit;
}
constexpr std::uint8_t folded(std::uint32_t unit) {
    return static_cast<std::uint8_t>(unit < 128 ? unit : (unit * 2654435769u) >> 24);
}

/// A gram: its number, below 2^20, and its length in the lowest 3 bits; 0: none.
using gram = std::uint32_t;
constexpr unsigned gram_length(gram g) {
    return g & 7;
}
constexpr std::uint32_t gram_number(gram g) {
    return g >> 3;
}
constexpr unsigned max_number_bits = 20;
/// The bits of a gram's number in bitmaps of this scale.
constexpr unsigned number_bits(unsigned scale) {
    const unsigned bits = bitmap_log(scale) + 5;
    return bits < max_number_bits ? bits : max_number_bits;
}
/// The last occurrence of a number that has a key of its own.
constexpr std::uint32_t max_times = 255;
/// The bit of the key of a number that occurred `times` times before, at most max_times. `mask`: bits of the bitmap - 1.
constexpr std::size_t key_bit(std::uint32_t number, std::uint32_t times, std::size_t mask) {
    return ((number + (std::uint64_t{times} << 20)) * 0x9e3779b97f4a7c15u >> 32) & mask;
}

constexpr unsigned max_gram_length = 6;

/// A well mixed hash of the first `length` of 8 units, the first in the lowest byte; length 3 to 6.
constexpr std::uint32_t gram_hash(std::uint64_t units, unsigned length) {
    const auto four = static_cast<std::uint32_t>(units) << (length == 3 ? 8 : 0);
    const auto rest = static_cast<std::uint32_t>(units >> 32) & (length == 5   ? 0xffu
                                                                 : length == 6 ? 0xffffu
                                                                               : 0);
    std::uint32_t hash = four * 0x9e3779b1u + rest * 0x85ebca6bu + length;
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    hash ^= hash >> 13;
    return hash * 0x297a2d39u;
}

/// Which grams texts of one scale have: 3 units if these are rare, else 4 to 6 units, or none, by the first 4 of them.
/// 24 KiB, so that they stay in the first cache.
struct gram_table {
    static constexpr unsigned lead_bits = 16;
    static constexpr std::size_t three_words = (std::size_t{1} << lead_bits) / 32,
                                 longer_words = (std::size_t{1} << lead_bits) / 16;
    static constexpr std::uint32_t lead(std::uint32_t units) {
        return units * 0x9e3779b1u >> (32 - lead_bits);
    }
    static constexpr std::uint32_t lead_of_three(std::uint64_t units) {
        return lead(static_cast<std::uint32_t>(units) << 8);
    }
    static constexpr std::uint32_t lead_of_four(std::uint64_t units) {
        return lead(static_cast<std::uint32_t>(units));
    }

    /// The length of the gram that 8 units begin with, or 0.
    unsigned length(std::uint64_t units) const { return length(units, three.data(), longer.data()); }
    /// The same with a table anywhere, on any place.
    static constexpr unsigned length(std::uint64_t units, const std::uint32_t* of_three,
                                     const std::uint32_t* of_longer) {
        const std::uint32_t three_at = lead_of_three(units), four_at = lead_of_four(units);
        if ((of_three[three_at / 32] >> (three_at % 32) & 1) != 0) return 3;
        const unsigned code = of_longer[four_at / 16] >> (2 * (four_at % 16)) & 3;
        return code == 0 ? 0 : code + 3;
    }

    std::vector<std::uint32_t> three;   ///< a bit for each lead: whether these 3 units are a gram
    std::vector<std::uint32_t> longer;  ///< 2 bits for each lead: the length of the gram less 3, or 0
};

/// Which grams texts of each scale have, learnt from a sample. Any rule is correct; a good one separates texts well.
class gram_rules {
  public:
    static constexpr std::size_t max_sample = std::size_t{1} << 21;  ///< units; a caller need not pass more

    static constexpr std::size_t min_sample = std::size_t{1} << 15;  ///< from fewer, grams have 5 units

    /// `sample`: pieces of typical texts, folded, one after another. Memory: 24 KiB for each scale, 20 MiB meanwhile. Cost:
    /// O(sample).
    gram_rules(cpu_place& place, std::span<const std::uint8_t> sample, unsigned first_scale,
               unsigned last_scale);

    const gram_table& at(unsigned scale) const { return by_scale_[scale - first_]; }
    unsigned first_scale() const { return first_; }
    unsigned last_scale() const { return first_ + static_cast<unsigned>(by_scale_.size()) - 1; }

  private:
    unsigned first_;
    std::vector<gram_table> by_scale_;
};

/// The grams of all positions of a text of n units, after which 8 zeros follow: at[i] for position i (n), and the numbers of
/// those that are not 0, in order, to `numbers` (n). Returns how many. Numbers have `number_bits` bits.
std::size_t cut_grams(const std::uint8_t* text, std::size_t n, const gram_table& table, unsigned number_bits,
                      gram* at, std::uint32_t* numbers);

/// Makes the bitmaps of one text after another. One per thread. Memory: 9 bytes a unit of the longest text, and at most 1 MiB.
class gram_sketcher {
  public:
    explicit gram_sketcher(const gram_rules& rules) : rules_(&rules) {}

    /// The text of the next calls. Cost: O(units).
    template <class Unit>
    void set(std::span<const Unit> text);
    /// Both write bitmap_words(scale) words. Cost: O(units + words).
    void write_all(unsigned scale, std::uint64_t* to);
    /// Returns the population.
    std::uint32_t write_disjoint(unsigned scale, std::uint64_t* to);

  private:
    void cut(unsigned scale);

    const gram_rules* rules_;
    std::vector<std::uint8_t> text_;      ///< folded, with 8 zeros after it
    unsigned scale_ = 0;                  ///< of the grams below; 0: not cut yet
    std::vector<gram> at_;                ///< by position
    std::vector<std::uint32_t> numbers_;  ///< of the grams
    std::size_t count_ = 0;               ///< of these numbers
    std::vector<std::uint32_t> chosen_;   ///< numbers of disjoint grams
    std::vector<std::uint8_t> seen_;      ///< by number: occurrences so far
};

/// common[i] = population(row & others[i]), bitmaps of `words` words, a multiple of 32.
void common_bits(const std::uint64_t* row, const std::uint64_t* const* others, std::size_t count,
                 std::size_t words, std::uint32_t* common);

}  // namespace quern::near_duplicates_detail
