// SPDX-License-Identifier: Apache-2.0
#include "quern/base/decimal.hpp"

#include <algorithm>
#include <string>

#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr int max_digits = 9;  // on each side of the point

[[noreturn]] void refuse(std::string_view text) {
    throw usage_error(
        "'" + std::string(text) +
        "' is not a decimal number such as 0.05, with at most nine digits on each side of the point");
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Removes and returns the leading digits of `text`.
std::string_view take_digits(std::string_view& text) {
    const auto end = std::ranges::find_if_not(text, is_digit);
    const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(digits.size());
    return digits;
}

/// Removes "e-3" and returns -3; 0 if there is no exponent. With more than three digits no readable number remains.
int take_exponent(std::string_view& text, std::string_view whole) {
    if (text.empty()) return 0;
    if (text[0] != 'e' && text[0] != 'E') refuse(whole);
    text.remove_prefix(1);
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const std::string_view digits = take_digits(text);
    if (digits.empty() || digits.size() > 3) refuse(whole);
    int value = 0;
    for (const char digit : digits) value = 10 * value + (digit - '0');
    return negative ? -value : value;
}

}  // namespace

decimal parse_decimal(std::string_view text) {
    std::string_view rest = text;
    std::string digits(take_digits(rest));
    int fraction_digits = 0;  // number of digits after the point
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        const std::string_view fraction = take_digits(rest);
        digits += fraction;
        fraction_digits = static_cast<int>(std::min<std::size_t>(fraction.size(), 4096));
        if (fraction.size() > 4096) refuse(text);
    }
    if (digits.empty()) refuse(text);
    fraction_digits -= take_exponent(rest, text);
    if (!rest.empty()) refuse(text);

    // Only significant digits remain, so that equal numbers are equal decimals.
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.empty()) return {0, 1};
    for (; digits.back() == '0'; digits.pop_back()) --fraction_digits;
    const int before = static_cast<int>(std::min<std::size_t>(digits.size(), 8192)) - fraction_digits;
    if (fraction_digits > max_digits || before > max_digits) refuse(text);

    decimal value;
    for (const char digit : digits)
        value.numerator = 10 * value.numerator + static_cast<unsigned>(digit - '0');
    for (; fraction_digits < 0; ++fraction_digits) value.numerator *= 10;
    for (; fraction_digits > 0; --fraction_digits) value.denominator *= 10;
    return value;
}

std::string to_text(const decimal& value) {
    std::string text = std::to_string(value.numerator / value.denominator);
    if (value.denominator == 1) return text;
    std::string fraction = std::to_string(value.denominator + value.numerator % value.denominator);
    fraction[0] = '.';  // replaces the 1 that took the place of the point
    text += fraction;
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

}  // namespace quern
