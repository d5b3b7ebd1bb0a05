// SPDX-License-Identifier: Apache-2.0
// Two bitmaps of a text, from which follows a lower bound of its edit distance to other texts.
//
// A rule assigns a gram to each position of a text: the next 3 to 5 units, as few as are rare in texts of that length,
// or no gram where even 5 are frequent. It depends only on these units. A gram is hashed to a number; its j-th occurrence
// in a text is the key (number, j).
//
// `all` of a text b has a bit for each key of all positions. `disjoint` of a text a has one for each key of as many grams
// as fit into a without overlap, where j counts only these. An edit changes at most one of the disjoint grams; the others
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
/// The size of a bitmap, a power of two: 2 to 4 bits for each unit of a text, twice and four times as many for long texts;
/// at most 1 MiB.
constexpr std::size_t bitmap_bits(unsigned scale) {
    const unsigned log = scale < 9             ? 11
                         : scale < long_scale  ? scale + 2
                         : scale == long_scale ? scale + 3
                                               : scale + 4;
    return std::size_t{1} << (log < 23 ? log : 23);
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

/// Which grams texts of each scale have, learnt from a sample. Any rule is correct; a good one separates texts well.
class gram_rules {
  public:
    static constexpr std::size_t max_sample = std::size_t{1} << 21;  ///< units; a caller need not pass more

    static constexpr std::size_t min_sample = std::size_t{1} << 15;  ///< from fewer, grams have one length

    /// `sample`: pieces of typical texts, folded, one after another. Memory: 128 KiB for each scale, 20 MiB meanwhile. Cost:
    /// O(sample).
    gram_rules(cpu_place& place, std::span<const std::uint8_t> sample, unsigned first_scale,
               unsigned last_scale);

    /// A function of 8 units, the first in the lowest byte: the length of the gram that they begin with, or 0.
    auto at(unsigned scale) const {
        const tables* of = by_scale_.empty() ? nullptr : &by_scale_[scale - first_];
        return [three = of != nullptr ? of->three.data() : nullptr,
                longer = of != nullptr ? of->longer.data() : nullptr](std::uint64_t units) -> unsigned {
            if (three == nullptr) return 5;
            const unsigned is_three = three[lead<3>(units)], other = longer[lead<4>(units)];
            return is_three | (other & ((is_three - 1) >> 8));  // unpredictable, so without a branch
        };
    }

  private:
    static constexpr unsigned lead_bits = 16;
    template <unsigned Length>
    static std::size_t lead(std::uint64_t units) {
        return static_cast<std::size_t>((units << (64 - 8 * Length)) * 0x9e3779b97f4a7c15u >>
                                        (64 - lead_bits));
    }
    struct tables {
        std::vector<std::uint8_t> three;   ///< by 3 units: 3 if these are a gram
        std::vector<std::uint8_t> longer;  ///< by 4 units: the length of the gram
    };
    unsigned first_;
    std::vector<tables> by_scale_;
};

/// The number of the gram of the first `length` of 8 units, well mixed.
constexpr std::uint64_t gram_hash(std::uint64_t units, unsigned length) {
    std::uint64_t hash = (units << ((64 - 8 * length) & 63)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    return hash * 0xbf58476d1ce4e5b9u;
}

/// Makes the bitmaps of one text after another. One per thread. Memory: 15 bytes a unit of the longest text, and at most 1 MiB.
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
    struct gram {
        std::uint32_t number, length;
    };
    void cut(unsigned scale);

    const gram_rules* rules_;
    std::vector<std::uint8_t> text_;             ///< folded, with 8 bytes after it
    unsigned scale_ = 0;                         ///< of the grams below; 0: not cut yet
    std::vector<gram> at_;                       ///< by position; length 0: none
    std::vector<std::uint32_t> all_, disjoint_;  ///< numbers of grams
    std::vector<std::uint8_t> seen_;             ///< by number: occurrences so far
};

/// common[i] = population(row & others[i]), bitmaps of `words` words, a multiple of 32.
void common_bits(const std::uint64_t* row, const std::uint64_t* const* others, std::size_t count,
                 std::size_t words, std::uint32_t* common);

}  // namespace quern::near_duplicates_detail
