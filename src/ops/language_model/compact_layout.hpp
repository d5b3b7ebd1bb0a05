// SPDX-License-Identifier: Apache-2.0
// The bytes of a compact model: a head (order, quantised bits), then for each length a head with its sizes, and its parts,
// each at a multiple of 8; parts of bits have 8 bytes after them, so that 8 bytes can be read at any bit.
#pragma once

#include <cstdint>

namespace quern::compact_layout {

constexpr std::uint64_t sample_nodes = 64;
/// Samples whose nodes lie in more bits than this have the positions of all of them.
constexpr std::uint64_t far_bits = 4096;
constexpr std::uint64_t is_far = std::uint64_t{1} << 63;

struct level_head {
    std::uint64_t size, children;  ///< children: n-grams of the next length; 0 for the last
    std::uint32_t word_bits, probability_bits, back_off_bits, zero;
    std::uint64_t probability_values, back_off_values;  ///< of the tables; 0: the codes are the values' bits
    std::uint64_t samples, far;
};
struct model_head {
    std::uint32_t order, quantised_bits;
};

/// What a record has in place of its word: the children of a node lie in the order of their keys. Words are numbered by
/// how early they occur, so the numbers of a node's children crowd near 0; their keys are spread evenly, whichever they are
/// (multiples of the golden ratio: Knuth, The Art of Computer Programming 3, 6.4). So interpolation finds one in few steps.
constexpr std::uint32_t key_of(std::uint32_t word, unsigned word_bits) {
    const auto factor = static_cast<std::uint32_t>(0x9E3779B97F4A7C15 >> (64 - word_bits)) | 1;
    return word * factor & static_cast<std::uint32_t>((std::uint64_t{1} << word_bits) - 1);
}

/// Of a part of so many bits.
constexpr std::uint64_t words_of_bits(std::uint64_t bits) {
    return bits / 64 + 2;
}

}  // namespace quern::compact_layout
