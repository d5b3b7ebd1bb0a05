// SPDX-License-Identifier: Apache-2.0
// Edit distances (Levenshtein) of many pairs of strings, each with its own bound. Contract class: exact.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "device/span.hpp"

namespace quern::primitives {

/// The units of strings: bytes, or code points.
template <class T>
concept string_unit = std::same_as<T, std::uint8_t> || std::same_as<T, std::uint32_t>;

/// Two strings of a list, and the largest distance of interest.
struct bounded_pair {
    std::uint32_t a, b, bound;
};

/// Replaces a distance beyond the bound.
inline constexpr std::uint32_t beyond_bound = 0xffffffff;

/// distances[i] = the edit distance of the strings a and b of pairs[i], or `beyond_bound` if it is larger than
/// pairs[i].bound. String s is units[offsets[s] .. offsets[s + 1]).
///
/// Method (docs/primitives/edit_distance.md):
/// - Common ends are cut off.
/// - Few edits are found along diagonals (Ukkonen 1985; Myers 1986).
/// - The others are computed by columns of bits (Myers 1999; Hyyrö 2003), many words per step, within the band of the bound
///   (Ukkonen 1985), narrow bands first. A pair is abandoned as soon as nothing in the band can stay within the bound.
/// - Pairs are queued by length: a long one does not delay the others.
///
/// Throws usage_error if the size of `distances` is not that of `pairs`, and for a string that the list lacks, a string or
/// a bound of 2^31 units or more (CUDA: checks only the first; the caller ensures the others), and 2^32 pairs.
///
/// Memory: O(bound) per thread and 4 bytes per pair; CUDA: 40 bytes per pair and O(bound) per warp. Cost: at most O(length
/// · bound / 512); for few edits d, O(length / 8 + d²). The CUDA form is asynchronous except for the length of its queues,
/// which it waits for.
template <string_unit Unit>
void edit_distances(cpu_place& place, std::span<const Unit> units, std::span<const std::uint64_t> offsets,
                    std::span<const bounded_pair> pairs, std::span<std::uint32_t> distances);
template <string_unit Unit>
void edit_distances(cuda_place& place, device_span<const Unit> units,
                    device_span<const std::uint64_t> offsets, device_span<const bounded_pair> pairs,
                    device_span<std::uint32_t> distances);

/// The same, one pair after another on one thread: for a caller whose next pair depends on the last distance.
template <string_unit Unit>
class pair_aligner {
  public:
    explicit pair_aligner(cpu_place& place);
    pair_aligner(pair_aligner&&) noexcept;
    pair_aligner& operator=(pair_aligner&&) noexcept;
    ~pair_aligner();

    /// The edit distance, or `beyond_bound` if it is larger than `bound`. Strings and bound below 2^31 units.
    std::uint32_t distance(std::span<const Unit> a, std::span<const Unit> b, std::uint32_t bound);

  private:
    struct ways;
    std::unique_ptr<ways> ways_;
};

}  // namespace quern::primitives
