// SPDX-License-Identifier: Apache-2.0
// Rolling hashes of code points. Of windows: a polynomial modulo the prime 2^61 - 1, whose collisions are rare for any
// text. Of anchors, which are only a filter: rotations and exclusive or, several times as fast.
#pragma once

#include <cstdint>

namespace quern::repeated_text_detail {

inline constexpr std::uint64_t mix_factor = 0x9E3779B97F4A7C15U;
inline constexpr std::uint64_t hash_prime = (std::uint64_t{1} << 61) - 1;
inline constexpr std::uint64_t hash_base = 0x11A5'8E3F'52C7'6B09U;  // below the prime

constexpr std::uint64_t reduced(std::uint64_t sum) {
    return sum >= hash_prime ? sum - hash_prime : sum;
}

/// Modulo the prime; of numbers below it.
constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    __extension__ using wide = unsigned __int128;
    const wide whole = static_cast<wide>(a) * b;
    return reduced((static_cast<std::uint64_t>(whole) & hash_prime) +
                   static_cast<std::uint64_t>(whole >> 61));
}

constexpr std::uint64_t appended(std::uint64_t hash, std::uint32_t value) {
    return reduced(product(hash, hash_base) + value + 1);
}

/// Appends a code point to a window and removes its first; `leaving_factor` is the base to the power of its length.
constexpr std::uint64_t rolled(std::uint64_t hash, std::uint32_t first, std::uint64_t leaving_factor,
                               std::uint32_t value) {
    const std::uint64_t leaving = product(std::uint64_t{first} + 1, leaving_factor);
    return reduced(appended(hash, value) + (hash_prime - leaving));
}

constexpr std::uint64_t final_hash(std::uint64_t hash) {
    hash *= mix_factor;
    return hash ^ (hash >> 32);
}

/// A code point in the hash of an anchor.
constexpr std::uint64_t gram_value(std::uint32_t value) {
    const std::uint64_t mixed = (std::uint64_t{value} + 1) * 0xD6E8FEB86659FD93U;
    return mixed ^ (mixed >> 32);
}

}  // namespace quern::repeated_text_detail
