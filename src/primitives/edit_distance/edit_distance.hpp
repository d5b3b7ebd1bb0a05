// SPDX-License-Identifier: Apache-2.0
// Edit distances (Levenshtein) of many pairs of strings, each with a bound of its own.
// Contract class: exact.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "device/cpu/place.hpp"
#include "device/cuda/place.hpp"
#include "device/span.hpp"

namespace quern::primitives {

/// What strings are made of: bytes, or code points.
template <class T>
concept string_unit = std::same_as<T, std::uint8_t> || std::same_as<T, std::uint32_t>;

/// Two strings of a list, and the largest distance of interest.
struct bounded_pair {
    std::uint32_t a, b, bound;
};

/// Instead of a distance beyond the bound.
inline constexpr std::uint32_t beyond_bound = 0xffffffff;

/// distances[i] = the edit distance of the strings a and b of pairs[i], or `beyond_bound` where it is larger than
/// pairs[i].bound. String s is units[offsets[s] .. offsets[s + 1]).
///
/// Common ends are cut off; few edits are found along diagonals (Ukkonen 1985; Myers 1986), the others by columns of
/// bits (Myers 1999; Hyyrö 2003), many words a step, within the band that the bound leaves (Ukkonen 1985), narrow bands
/// first, and given up as soon as nothing in the band can stay within the bound: docs/primitives/edit_distance.md.
/// Pairs are queued by length: a long one does not hold up the others.
///
/// Throws usage_error for a size of `distances` that is not that of `pairs`, a string that the list lacks, a string or
/// a bound of 2^31 units or more (CUDA: the first only; the caller answers for the others), and 2^32 pairs.
/// Memory: O(bound) a thread and 4 bytes a pair; CUDA: 40 bytes a pair and O(bound) a warp. Cost: O(length · bound / 512)
/// at most; for few edits d, O(length / 8 + d²).
/// The CUDA form is asynchronous but for the length of its queues, which it waits for.
template <string_unit Unit>
void edit_distances(cpu_place& place, std::span<const Unit> units, std::span<const std::uint64_t> offsets,
                    std::span<const bounded_pair> pairs, std::span<std::uint32_t> distances);
template <string_unit Unit>
void edit_distances(cuda_place& place, device_span<const Unit> units,
                    device_span<const std::uint64_t> offsets, device_span<const bounded_pair> pairs,
                    device_span<std::uint32_t> distances);

}  // namespace quern::primitives
