// SPDX-License-Identifier: Apache-2.0
// Numbers parsed at memory speed: eight digits at a time in a 64-bit word (Lemire, "Number Parsing at a Gigabyte per
// Second", Software: Practice and Experience 2021). A text must be followed by 16 readable bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace quern::io {

inline std::uint64_t load_eight(const char* text) {
    std::uint64_t word;
    std::memcpy(&word, text, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

/// The number of leading digits among the eight characters in `word`.
inline unsigned leading_digits(std::uint64_t word) {
    constexpr std::uint64_t high = 0xf0f0f0f0f0f0f0f0, zeros = 0x3030303030303030, six = 0x0606060606060606;
    // A carry out of a byte goes into the next character, after the first non-digit.
    const std::uint64_t other = ((word & high) ^ zeros) | (((word + six) & high) ^ zeros);
    return other == 0 ? 8 : static_cast<unsigned>(std::countr_zero(other)) / 8;
}

/// The value of the first `count` characters of `word`, 1 to 8 digits.
inline std::uint64_t digits_value(std::uint64_t word, unsigned count) {
    word = (word & 0x0f0f0f0f0f0f0f0f) << (64 - 8 * count);  // leading zeros
    word = (word * 2561) >> 8;
    word = ((word & 0x00ff00ff00ff00ff) * 6553601) >> 16;
    return ((word & 0x0000ffff0000ffff) * 42949672960001) >> 32;
}

/// A run of digits.
struct digit_run {
    unsigned digits = 0;      ///< how many; 0: no digit here
    bool fits = false;        ///< in 64 bits
    std::uint64_t value = 0;  ///< if it fits
    /// Whether a program would write the number this way: without leading zeros.
    bool canonical(const char* text) const { return digits == 1 || (digits != 0 && fits && *text != '0'); }
};

/// Runs beyond 20 digits do not fit, even with leading zeros.
inline digit_run take_digits(const char*& text) {
    static constexpr std::uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    digit_run run;
    std::uint64_t word = load_eight(text);
    unsigned count = leading_digits(word);
    if (count == 0) return run;
    run.value = digits_value(word, count);
    run.digits = count;
    run.fits = true;
    text += count;
    while (count == 8) {
        word = load_eight(text);
        count = leading_digits(word);
        if (count == 0) break;
        std::uint64_t scaled;
        run.fits = run.fits && !__builtin_mul_overflow(run.value, powers[count], &scaled) &&
                   !__builtin_add_overflow(scaled, digits_value(word, count), &run.value);
        run.digits += count;
        text += count;
    }
    run.fits = run.fits && run.digits <= 20;
    return run;
}

/// Parses the decimal at `at`, advances `at` past it, and returns the nearest double, if that takes one operation: at
/// most 19 digits that form an integer below 2^53, divided or multiplied by a power of ten up to 22. Both are exact
/// doubles, so that IEEE rounds once (Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990). False for
/// any other text; `at` is then undefined.
inline bool take_short_decimal(const char*& at, double& value) {
    static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    static constexpr std::uint64_t integer_powers[] = {1,
                                                       10,
                                                       100,
                                                       1000,
                                                       10000,
                                                       100000,
                                                       1000000,
                                                       10000000,
                                                       100000000,
                                                       1000000000,
                                                       10000000000,
                                                       100000000000,
                                                       1000000000000,
                                                       10000000000000,
                                                       100000000000000,
                                                       1000000000000000,
                                                       10000000000000000,
                                                       100000000000000000,
                                                       1000000000000000000};
    const bool negative = *at == '-';
    at += static_cast<int>(negative) | static_cast<int>(*at == '+');  // signs are unpredictable: no branch
    const digit_run whole = take_digits(at);
    std::uint64_t digits = whole.value;
    unsigned count = whole.digits;
    std::int64_t exponent = 0;
    if (*at == '.') {
        ++at;
        const digit_run fraction = take_digits(at);
        count += fraction.digits;
        if (count > 19) return false;
        digits = digits * (fraction.digits < 19 ? integer_powers[fraction.digits] : 0) + fraction.value;
        exponent = -static_cast<std::int64_t>(fraction.digits);
    }
    if (count == 0 || count > 19) return false;
    if (*at == 'e' || *at == 'E') {
        ++at;
        const bool down = *at == '-';
        at += static_cast<int>(down || *at == '+');
        const digit_run power = take_digits(at);
        if (power.digits == 0 || power.digits > 4) return false;
        exponent += down ? -static_cast<std::int64_t>(power.value) : static_cast<std::int64_t>(power.value);
    }
    if (digits >> 53 != 0 || exponent < -22 || exponent > 22) return false;
    value = static_cast<double>(digits);
    value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
    value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | std::uint64_t{negative} << 63);
    return true;
}

/// `text` as an integer of a graph: only digits, without leading zeros, below 2^64. Nothing: it is a name. Needs no
/// bytes after it.
std::optional<std::uint64_t> integer_of(std::string_view text);

enum class number_problem { none, not_a_number, too_large };
struct parsed_number {
    double value = 0;
    number_problem problem = number_problem::none;
};
/// A decimal number, "inf", "infinity" or "nan" in any case, with or without a sign: the nearest double. Beyond the
/// largest double: too_large; too small: 0 or a subnormal, as IEEE 754 rounds.
parsed_number parse_double(std::string_view text);
/// The same for a field followed by a blank, a tab or a line feed, in a text readable up to `readable_end`.
parsed_number parse_double(std::string_view field, const char* readable_end);

// Messages of readers about a line.

/// The first refused line of a block. `line` counts from 1 within the block; 0: none.
struct line_issue {
    std::uint64_t line = 0;
    std::string reason;
    explicit operator bool() const { return line != 0; }
};

/// An excerpt of the file, without bytes that would break a line or a terminal.
inline std::string quoted(std::string_view text) {
    std::string shown = "'";
    for (const char c : text.substr(0, 40)) shown += c >= ' ' && c < 0x7f ? c : '?';
    return shown.append(text.size() > 40 ? "…'" : "'");
}

}  // namespace quern::io
