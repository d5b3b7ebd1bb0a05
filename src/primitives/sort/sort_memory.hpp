// SPDX-License-Identifier: Apache-2.0
// How much memory a sort on the CPU takes, for callers that decide by it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace quern::primitives {

/// The most for each thread, besides one copy of the keys or pairs.
inline constexpr std::uint64_t sort_bytes_of_thread = std::uint64_t{5} << 20;

/// Of `pairs` of 16 bytes at most: the copy, and for each thread a bucket twice and the lines of the buckets. One thread sorts few.
inline std::uint64_t sort_bytes(std::uint64_t pairs, unsigned threads) {
    constexpr std::uint64_t each = 16, few = (std::uint64_t{1} << 19) / each, lines = std::uint64_t{1} << 19;
    if (pairs <= few) return 2 * each * pairs;
    return pairs * each + threads * std::min(sort_bytes_of_thread, 2 * each * pairs + lines);
}

}  // namespace quern::primitives
