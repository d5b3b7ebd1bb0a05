// SPDX-License-Identifier: Apache-2.0
#include "quern/base/decimal.hpp"

#include <algorithm>
#include <string>

#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr int most_digits = 9;  // on each side of the point

[[noreturn]] void refuse(std::string_view text) {
    throw usage_error(
        "'" + std::string(text) +
        "' is not a decimal number such as 0.05, with at most nine digits on each side of the point");
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Takes the digits that `text` begins with.
std::string_view take_digits(std::string_view& text) {
    const auto end = std::ranges::find_if_not(text, is_digit);
    const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(digits.size());
    return digits;
}

/// Takes "e-3"; 0 where there is none. Beyond three digits no number is left that could be read.
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
    int behind = 0;  // how many of the digits stand behind the point
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        const std::string_view fraction = take_digits(rest);
        digits += fraction;
        behind = static_cast<int>(std::min<std::size_t>(fraction.size(), 4096));
        if (fraction.size() > 4096) refuse(text);
    }
    if (digits.empty()) refuse(text);
    behind -= take_exponent(rest, text);
    if (!rest.empty()) refuse(text);

    // What is left are the digits that count, so that equal numbers are equal decimals.
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.empty()) return {0, 1};
    for (; digits.back() == '0'; digits.pop_back()) --behind;
    const int before = static_cast<int>(std::min<std::size_t>(digits.size(), 8192)) - behind;
    if (behind > most_digits || before > most_digits) refuse(text);

    decimal value;
    for (const char digit : digits)
        value.numerator = 10 * value.numerator + static_cast<unsigned>(digit - '0');
    for (; behind < 0; ++behind) value.numerator *= 10;
    for (; behind > 0; --behind) value.denominator *= 10;
    return value;
}

std::string to_text(const decimal& value) {
    std::string text = std::to_string(value.numerator / value.denominator);
    if (value.denominator == 1) return text;
    std::string fraction = std::to_string(value.denominator + value.numerator % value.denominator);
    fraction[0] = '.';  // the 1 that stood for the point
    text += fraction;
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

}  // namespace quern
