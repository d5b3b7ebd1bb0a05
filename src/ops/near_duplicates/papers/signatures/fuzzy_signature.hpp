// SPDX-License-Identifier: Apache-2.0
// Fuzzy-hash signatures of many texts (context-triggered piecewise hashing; Kornblum 2006), in flat arrays.
//
// A rolling hash of the last 7 bytes runs over the text. Where it is B − 1 modulo B the text is cut, and the hash of the
// piece since the last cut gives one letter. An edit changes only the letters of the pieces that it touches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

inline constexpr unsigned signature_letters = 64;

/// Block sizes are 2^level. At 2^33 a hash of 32 bits makes no cut any more, so this size and its double are the last.
inline constexpr unsigned signature_levels = 35;

/// Text i has two signatures: string 2i, at its block size 2^levels[i], and string 2i + 1, at twice that. String s is
/// letters[offsets[s] .. offsets[s + 1]), each letter a number below 64.
struct signature_view {
    std::span<const std::uint8_t> letters;
    std::span<const std::uint64_t> offsets;
    std::span<const std::uint8_t> levels;

    std::uint32_t texts() const { return static_cast<std::uint32_t>(levels.size()); }
    unsigned length(std::uint64_t s) const { return static_cast<unsigned>(offsets[s + 1] - offsets[s]); }
    std::span<const std::uint8_t> string(std::uint64_t s) const {
        return letters.subspan(offsets[s], offsets[s + 1] - offsets[s]);
    }
};

/// The signatures of a list of texts, in the memory of a place.
class signature_list {
  public:
    /// Signatures of at most `length` letters each. Each text is processed by one of the place's threads. Cost: two passes
    /// over the bytes; two bytes of memory per letter and 17 per text.
    signature_list(cpu_place& place, const text_list& texts, unsigned length);

    signature_view view() const { return {letters_.span(), offsets_.span(), levels_.span()}; }

  private:
    cpu_array<std::uint8_t> letters_;
    cpu_array<std::uint64_t> offsets_;
    cpu_array<std::uint8_t> levels_;
};

// Finds where a text may be cut: its rolling hash at many positions at once.

/// The hash depends on this many bytes.
inline constexpr std::size_t rolling_bytes = 7;

/// A position whose hash ends in `level` ones: a cut for every block size up to 2^level.
struct text_cut {
    std::size_t position;
    std::uint32_t level;
};

/// ssdeep's sum of three hashes of the bytes c0 (the last), c1, … c6: their sum, the sum of (7 − j) cj, and the exclusive
/// or of cj 2^(5j), modulo 2^32. Bytes before the text are zero.
inline std::uint32_t rolling_hash(const std::uint8_t* text, std::size_t position) {
    std::uint32_t sums = 0, shifted = 0;
    for (std::uint32_t j = 0; j < rolling_bytes && j <= position; ++j) {
        const std::uint32_t byte = text[position - j];
        sums += (8 - j) * byte;
        shifted ^= byte << (5 * j);
    }
    return sums + shifted;
}

/// Finds the positions p in [begin, end) whose hash has all bits of `mask` (2^level − 1). Writes them, ascending, with
/// their levels to `cuts` (capacity at least end − begin); returns their number.
std::size_t find_cuts(const std::uint8_t* text, std::size_t begin, std::size_t end, std::uint32_t mask,
                      text_cut* cuts);

}  // namespace quern::near_duplicates_detail
