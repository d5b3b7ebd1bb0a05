// SPDX-License-Identifier: Apache-2.0
// 128 numbers of B bits each in 16·B bytes. Number i is in lane i mod 4 of four lanes, so that one 128-bit register
// operation handles four numbers (the "vertical" layout of SIMD-BP128: Lemire and Boytsov 2015). The lanes' 32-bit words
// are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::search_detail {

inline constexpr std::size_t block_size = 128;

/// Bytes of a packed block of numbers of `width` bits each.
constexpr std::size_t packed_bytes(unsigned width) {
    return 16 * static_cast<std::size_t>(width);
}

/// Writes packed_bytes(width) bytes; every number must be below 2^width, width <= 32.
void pack_block(const std::uint32_t* numbers, unsigned width, char* out);

/// Reads packed_bytes(width) bytes, writes 128 numbers. width <= 32.
void unpack_block(const char* in, unsigned width, std::uint32_t* numbers);

}  // namespace quern::search_detail
