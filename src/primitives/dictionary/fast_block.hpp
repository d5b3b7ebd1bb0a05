// SPDX-License-Identifier: Apache-2.0
// The walk of front_coding.hpp for many words at a time: the headers of several blocks are read side by side, in chains
// without a branch; then each next word that must be looked at is found by comparing all sixteen of a block at once, and
// letters are compared eight at a time. A block with a long word, the list's last one and damaged ones go the plain way,
// with the same answer. For one word alone the plain walk is faster: it stops half-way through a block, on average.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "primitives/dictionary/front_coding.hpp"

namespace quern::primitives::front_coding {

/// Bytes that may be read from the begin of a block: its longest form without long words, and eight.
inline constexpr std::ptrdiff_t fast_block_bytes = 1 + 127 + 15 * 17 + 8;
/// Bytes that may be read behind the letters of the word looked for.
inline constexpr std::uint64_t read_beyond_word = 8;

namespace detail {

inline constexpr std::uint64_t ones = 0x0101010101010101;

inline std::uint64_t load_eight(const std::uint8_t* from) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return bytes;
}

/// How many of `most` bytes are equal; eight may be read of each from any of them on.
inline std::uint64_t equal_bytes(const std::uint8_t* a, const std::uint8_t* b, std::uint64_t most) {
    for (std::uint64_t i = 0; i < most; i += 8) {
        const std::uint64_t differs = load_eight(a + i) ^ load_eight(b + i);
        if (differs != 0) return std::min(most, i + static_cast<unsigned>(std::countr_zero(differs)) / 8);
    }
    return most;
}

/// Sixteen bytes, one for each word of a block.
using sixteen_bytes = std::uint8_t __attribute__((vector_size(16)));
using two_numbers = std::uint64_t __attribute__((vector_size(16)));

inline sixteen_bytes together(const std::uint64_t (&halves)[2]) {
    return sixteen_bytes(two_numbers{halves[0], halves[1]});
}

/// Bit i: byte i of a comparison says yes.
template <class Answers>
unsigned bits_of(Answers answers) {
    const auto yes = two_numbers(answers) & 0x8040201008040201;  // a bit of its own for each byte
    return static_cast<unsigned>((yes[0] * ones) >> 56 | (yes[1] * ones) >> 56 << 8);
}

inline unsigned byte_of(const std::uint64_t (&numbers)[2], unsigned i) {
    return static_cast<unsigned>(numbers[i / 8] >> 8 * (i % 8)) & 0xFF;
}

/// Whether a half of 15 is among them.
inline bool any_long(std::uint64_t halves) {
    const std::uint64_t high = (halves >> 4 & 0x0F * ones) + ones, low = (halves & 0x0F * ones) + ones;
    return ((high | low) & 0x10 * ones) != 0;
}

}  // namespace detail

/// The headers of a block's words as they are stored, one a byte, and the first letter that each word adds; the head has
/// neither: 0.
struct block_headers {
    std::uint64_t halves[2] = {0, 0}, letters[2] = {0, 0};
    const std::uint8_t* upper = nullptr;  ///< where header 8 stands
    const std::uint8_t* end = nullptr;    ///< of the last word
};

/// Whether the headers of a block of `count` words may be read.
inline bool may_read_headers(block_bytes block, const std::uint8_t* list_end, std::uint32_t count) {
    return count == words_per_block && list_end - block.begin >= fast_block_bytes && *block.begin < 128;
}

/// Reads the headers of some blocks side by side: each is found by the one before, so that one block alone has the
/// processor wait at every step. firsts[k]: where the first header of block k stands.
template <unsigned Blocks>
void read_headers(const std::uint8_t* const (&firsts)[Blocks], block_headers (&out)[Blocks]) {
    const std::uint8_t* at[Blocks];
    for (unsigned k = 0; k < Blocks; ++k) at[k] = firsts[k];
#pragma GCC unroll 15
    for (unsigned i = 1; i < words_per_block; ++i) {
#pragma GCC unroll 8
        for (unsigned k = 0; k < Blocks; ++k) {
            if (i == 8) out[k].upper = at[k];
            const std::uint64_t header = *at[k];
            out[k].halves[i / 8] |= header << 8 * (i % 8);
            out[k].letters[i / 8] |= std::uint64_t{at[k][1]} << 8 * (i % 8);
            at[k] += (header & 15U) + 2;
        }
    }
    for (unsigned k = 0; k < Blocks; ++k) out[k].end = at[k];
}

/// As lower_bound in a block whose headers are read. `word` is followed by read_beyond_word bytes that may be read.
inline bound lower_bound(block_bytes block, const block_headers& headers, const std::uint8_t* word,
                         std::uint64_t length) {
    const std::uint64_t(&halves)[2] = headers.halves;
    if (detail::any_long(halves[0]) || detail::any_long(halves[1]) || headers.end != block.end) {
        return lower_bound(block.begin, block.end, words_per_block, word, length);
    }
    const std::uint64_t head = *block.begin;
    const std::uint8_t* const letters_of_head = block.begin + 1;
    const std::uint8_t* const first_header = letters_of_head + head;
    // Where each word's header stands: a header and its letters are two bytes and the lower half long, and a product
    // adds up all bytes below each. The head would take two bytes by the same rule: they are taken off again.
    const std::uint64_t lengths[2] = {(halves[0] & 0x0F * detail::ones) + 2 * detail::ones,
                                      (halves[1] & 0x0F * detail::ones) + 2 * detail::ones};
    const auto upper = static_cast<std::uint64_t>(headers.upper - first_header);
    const std::uint64_t begins[2] = {lengths[0] * detail::ones - lengths[0] - 2 * (detail::ones - 1),
                                     lengths[1] * detail::ones - lengths[1] + upper * detail::ones};

    std::uint64_t same = detail::equal_bytes(letters_of_head, word, std::min(head, length));
    if (same == length) return {0, head == length};
    if (same < head && letters_of_head[same] > word[same]) return {0, false};
    const detail::sixteen_bytes shared = detail::together(halves) >> 4,
                                added_first = detail::together(headers.letters);
    for (unsigned ahead = 0xFFFE;;) {
        // The next word that shares less, or as much and is not less by its first letter: those before are less.
        const auto limit = static_cast<std::uint8_t>(std::min<std::uint64_t>(same, half_limit));
        const auto equal = shared == limit;
        const unsigned met =
            ahead & detail::bits_of((shared < limit) | (equal & (added_first >= word[same])));
        if (met == 0) return {words_per_block, false};
        const auto i = static_cast<unsigned>(std::countr_zero(met));
        if ((detail::bits_of(equal & (added_first == word[same])) >> i & 1) == 0) return {i, false};
        const std::uint64_t added = (detail::byte_of(halves, i) & 15U) + 1;
        const std::uint8_t* const letters = first_header + detail::byte_of(begins, i) + 1;
        const std::uint64_t more = detail::equal_bytes(letters, word + same, std::min(added, length - same));
        same += more;
        if (same == length) return {i, more == added};
        if (more < added && letters[more] > word[same]) return {i, false};
        ahead &= ~1U << i;
    }
}

}  // namespace quern::primitives::front_coding
