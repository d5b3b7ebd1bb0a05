// SPDX-License-Identifier: Apache-2.0
// The shortest decimal that reads back to the same float, as std::to_chars writes it, in half the time for numbers of the size that
// logarithms have.
//
// A float of 2^-4 to 2^7 is a multiple of 2^-27, so that 10^9 of it is an integer of at most 54 bits over a power of two, and so are
// the bounds between which a decimal reads back to it. Between them lie several multiples of 10^-9; digits are taken off while one
// that is shorter lies between them, too. All of it is exact.
#pragma once

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>

namespace quern {

inline constexpr std::size_t shortest_float_letters = 16;  ///< at most

inline void put_two_digits(char* to, std::uint32_t number) {
    to[0] = static_cast<char>('0' + number / 10);
    to[1] = static_cast<char>('0' + number % 10);
}

/// Writes to `to`, and returns the end.
inline char* put_shortest(char* to, float value) {
    constexpr std::uint64_t billion = 1'000'000'000;
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
    // Below a power of two floats are closer together.
    if (exponent < 127 - 4 || exponent >= 127 + 7 || fraction == 0)
        return std::to_chars(to, to + shortest_float_letters, value).ptr;
    const unsigned shift = 150 - exponent;
    const std::uint64_t scaled = (std::uint64_t{fraction} | 0x800000) * billion;
    // What reads back: half a unit to each side, the bounds among it where the last bit is even.
    const std::uint64_t reach = billion / 2 - (bits & 1);
    const std::uint64_t low = (scaled - reach + (std::uint64_t{1} << shift) - 1) >> shift;
    const std::uint64_t high = (scaled + reach) >> shift;
    const auto shortens = [&](std::uint64_t longer_unit) { return high / longer_unit * longer_unit >= low; };
    // Mostly one to three digits go: told without a branch, which would be guessed wrong.
    constexpr std::uint64_t units[] = {1, 10, 100, 1000};
    unsigned gone = unsigned{shortens(10)} + unsigned{shortens(100)} + unsigned{shortens(1000)};
    std::uint64_t unit = units[gone];
    if (gone == 3)
        for (; gone != 9 && shortens(10 * unit); ++gone) unit *= 10;
    // Of several the nearest, of two as near the even one.
    const std::uint64_t one = unit << shift, rest = scaled % one;
    std::uint64_t number = scaled / one;
    number += rest > one / 2 || (rest == one / 2 && number % 2 != 0) ? 1 : 0;
    const std::uint64_t decimal = number * unit;
    if (bits >> 31 != 0) *to++ = '-';
    auto whole = static_cast<std::uint32_t>(decimal / billion),
         behind = static_cast<std::uint32_t>(decimal % billion);
    if (whole >= 100) {
        *to++ = '1';
        whole -= 100;
        *to++ = static_cast<char>('0' + whole / 10);
        whole %= 10;
    } else if (whole >= 10) {
        *to++ = static_cast<char>('0' + whole / 10);
        whole %= 10;
    }
    *to++ = static_cast<char>('0' + whole);
    if (behind == 0) return to;
    *to = '.';
    const std::uint32_t upper = behind / 10'000, lower = behind % 10'000;
    to[1] = static_cast<char>('0' + upper / 10'000);
    put_two_digits(to + 2, upper / 100 % 100);
    put_two_digits(to + 4, upper % 100);
    put_two_digits(to + 6, lower / 100);
    put_two_digits(to + 8, lower % 100);
    return to + 10 - gone;
}

}  // namespace quern
