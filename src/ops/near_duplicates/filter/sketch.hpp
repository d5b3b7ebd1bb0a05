// SPDX-License-Identifier: Apache-2.0
// What is known of a text without reading it again: how often each unit occurs, and each pair of neighbours, added up
// in few buckets of one byte. From two sketches follows a lower bound of the edit distance.
//
// Let f count the q-grams of a text by buckets. An edit takes at most q of them away and brings at most q, so for d
// edits sum(max(f_a - f_b, 0)) <= q d and sum(max(f_b - f_a, 0)) <= q d. The two sums differ by g, the difference of
// the numbers of q-grams; so, with the norm |f_a - f_b| of all differences together,
//     |f_a - f_b| + g <= 2 q d.
// Counts that stop at 255 are only nearer to each other: the bound holds for them too. So no pair within d edits fails
// it (q-gram distance: Ukkonen 1992).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::near_duplicates_detail {

inline constexpr std::size_t unit_buckets = 64;    ///< q = 1
inline constexpr std::size_t pair_buckets = 1024;  ///< q = 2

/// The bucket of a unit: characters that are frequent in prose and in programs have their own.
inline constexpr auto bucket_of_ascii = [] {
    std::array<std::uint8_t, 128> bucket{};
    for (unsigned c = 0; c < 128; ++c) bucket[c] = static_cast<std::uint8_t>(61 + c % 3);
    for (unsigned c = 'A'; c <= 'Z'; ++c) bucket[c] = static_cast<std::uint8_t>(55 + c % 6);
    for (unsigned c = 'a'; c <= 'z'; ++c) bucket[c] = static_cast<std::uint8_t>(c - 'a');
    for (unsigned c = '0'; c <= '9'; ++c)
        bucket[c] = static_cast<std::uint8_t>(c < '3' ? 28 + c - '0' : 31 + c % 2);
    constexpr char alone[] = " \n()[]{};,.=+-*/<>\"':_#\t";
    std::uint8_t next = 26;
    for (const char* c = alone; *c != 0; ++c) {
        if (next == 28) next = 33;  // after the digits
        bucket[static_cast<unsigned char>(*c)] = next++;
    }
    return bucket;
}();
static_assert(bucket_of_ascii['\t'] == 54 && bucket_of_ascii[' '] == 26);

template <class Unit>
constexpr unsigned unit_bucket(Unit unit) {
    if (unit < 128) return bucket_of_ascii[unit];
    return (static_cast<std::uint32_t>(unit) * 2654435769u) >> 26;
}
template <class Unit>
constexpr unsigned pair_bucket(Unit first, Unit second) {
    return ((static_cast<std::uint32_t>(first) << 8 ^ first >> 8 ^ static_cast<std::uint32_t>(second) << 16 ^
             second) *
            2654435769u) >>
           22;
}

/// Writes unit_buckets bytes. Cost: O(units).
template <class Unit>
void sketch_units(std::span<const Unit> text, std::uint8_t* to);
/// Writes pair_buckets bytes. Cost: O(units).
template <class Unit>
void sketch_pairs(std::span<const Unit> text, std::uint8_t* to);

/// The number of q-grams of a text of this length.
constexpr std::uint64_t grams_in(std::uint64_t length, unsigned q) {
    return length < q ? 0 : length - q + 1;
}

/// The largest norm of differences that d edits allow; negative: none is allowed. `grams_apart` is g above.
constexpr std::int64_t largest_norm(unsigned q, std::uint32_t d, std::uint64_t grams_apart) {
    return std::int64_t{2} * q * d - static_cast<std::int64_t>(grams_apart);
}

/// norms[i] = the norm of the differences of `row` and the i-th of `others`, rows of unit_buckets bytes.
void unit_norms(const std::uint8_t* row, const std::uint8_t* others, std::size_t count, std::uint32_t* norms);
/// The norm of two rows of pair_buckets bytes.
std::uint32_t pair_norm(const std::uint8_t* a, const std::uint8_t* b);

}  // namespace quern::near_duplicates_detail
