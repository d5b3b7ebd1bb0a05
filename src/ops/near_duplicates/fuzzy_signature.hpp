// SPDX-License-Identifier: Apache-2.0
// Fuzzy-hash signatures of many texts (context-triggered piecewise hashing; Kornblum 2006), in flat arrays.
//
// A hash of the last 7 bytes rolls over the text; where it is B − 1 modulo B the text is cut, and the piece since
// the last cut, hashed, gives one letter. An edit changes the letters of the pieces that it touches and no other.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

inline constexpr unsigned longest_signature = 1000;
inline constexpr unsigned signature_letters = 64;

/// Block sizes are 2^level. At 2^33 no hash of 32 bits makes a cut any more, so this and its double are the last.
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

/// The signatures of a list of texts, in memory of a place.
class signature_list {
  public:
    /// Of at most `length` letters each. Texts are shared out among the place's threads, a text to one.
    /// Cost: two passes over the bytes; takes two bytes a letter and 17 a text.
    signature_list(cpu_place& place, const text_list& texts, unsigned length);

    signature_view view() const { return {letters_.span(), offsets_.span(), levels_.span()}; }

  private:
    cpu_array<std::uint8_t> letters_;
    cpu_array<std::uint64_t> offsets_;
    cpu_array<std::uint8_t> levels_;
};

}  // namespace quern::near_duplicates_detail
