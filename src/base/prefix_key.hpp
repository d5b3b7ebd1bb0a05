// SPDX-License-Identifier: Apache-2.0
// Compares words by their first bytes: this distinguishes and orders most words without reading the rest.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace quern {

/// The first 8 bytes as a number that orders as the bytes do; shorter words are padded with zeros.
inline std::uint64_t prefix_key(std::string_view word) {
    const char* const p = word.data();
    const std::size_t size = word.size();
    constexpr bool swap = std::endian::native == std::endian::little;
    if (size >= 8) {
        std::uint64_t head;
        std::memcpy(&head, p, sizeof head);
        return swap ? __builtin_bswap64(head) : head;
    }
    if (size >= 4) {  // two overlapping halves
        std::uint32_t head, tail;
        std::memcpy(&head, p, sizeof head);
        std::memcpy(&tail, p + size - 4, sizeof tail);
        const std::uint64_t first = swap ? __builtin_bswap32(head) : head;
        const std::uint64_t last = swap ? __builtin_bswap32(tail) : tail;
        return first << 32 | last << (8 * (8 - size));
    }
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < size; ++i)
        key |= std::uint64_t{static_cast<unsigned char>(p[i])} << (56 - 8 * i);
    return key;
}

}  // namespace quern
