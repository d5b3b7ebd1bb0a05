// SPDX-License-Identifier: Apache-2.0
// The walk that meets the disjoint grams of a text, in parts that are computed side by side. The only thing that a part needs
// of those before it is how many of its first units belong to a gram that began there: 0 to 5. So a part is a map of six
// states, and maps of neighbours are composed; their prefixes are a scan. For every compiler and place.
#pragma once

#include <cstdint>

#include "ops/near_duplicates/filter/gram_sketch.hpp"

namespace quern::near_duplicates_detail {

/// What a part of a text does: from the number of its units that the gram before it takes to the number of units after it
/// that its own last gram takes.
class walk_map {
  public:
    static constexpr unsigned states = max_gram_length;

    constexpr walk_map() = default;  ///< a part of no units
    constexpr explicit walk_map(std::uint32_t bits) : bits_(bits) {}
    constexpr std::uint32_t bits() const { return bits_; }

    constexpr unsigned operator()(unsigned taken) const { return bits_ >> (3 * taken) & 7; }
    constexpr void set(unsigned taken, unsigned after) {
        bits_ = (bits_ & ~(7u << (3 * taken))) | after << (3 * taken);
    }
    /// First this part, then `next`.
    constexpr walk_map then(walk_map next) const {
        walk_map both;
        for (unsigned taken = 0; taken < states; ++taken) both.set(taken, next((*this)(taken)));
        return both;
    }

  private:
    std::uint32_t bits_ = 0 | 1 << 3 | 2 << 6 | 3 << 9 | 4 << 12 | 5 << 15;
};

/// Of a part of at most 32 units; length_at(i) is the length of the gram at unit i, or 0. Cost: one walk, and a few steps of
/// five others until they meet it.
template <class LengthAt>
constexpr walk_map map_of_walk(unsigned units, const LengthAt& length_at) {
    walk_map map;
    const auto next = [&](unsigned i) {
        const unsigned length = length_at(i);
        return i + (length != 0 ? length : 1);
    };
    std::uint32_t gram_starts = 0;
    unsigned end = 0;
    for (; end < units; end = next(end)) gram_starts |= 1u << end;
    map.set(0, end - units);
    for (unsigned taken = 1; taken < walk_map::states; ++taken) {
        unsigned i = taken;
        while (i < units && (gram_starts >> i & 1) == 0) i = next(i);
        map.set(taken, (i < units ? end : i) - units);
    }
    return map;
}

}  // namespace quern::near_duplicates_detail
