// SPDX-License-Identifier: Apache-2.0
#include "io/lines/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace quern::io {
namespace {

/// Too large or too small for a double: decided by the position of its first nonzero digit.
parsed_number beyond_range(std::string_view text, bool negative) {
    std::int64_t exponent = 0;
    const std::size_t e = text.find_first_of("eE");
    if (e != std::string_view::npos) {
        std::string_view digits = text.substr(e + 1);
        if (digits.starts_with('+')) digits.remove_prefix(1);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
        if (read.ec != std::errc{}) exponent = digits.starts_with('-') ? -1'000'000'000 : 1'000'000'000;
        text = text.substr(0, e);
    }
    const std::size_t point = std::min(text.find('.'), text.size());
    const std::size_t first = text.find_first_of("123456789");
    if (first != std::string_view::npos) {
        const auto digits_before_point = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
        if (digits_before_point + exponent > 0) return {0, number_problem::too_large};
    }
    return {negative ? -0.0 : 0.0};
}

}  // namespace

std::optional<std::uint64_t> integer_of(std::string_view text) {
    if (text.empty() || text.size() > 20 || (text[0] == '0' && text.size() > 1)) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
            __builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value)) {
            return std::nullopt;
        }
    }
    return value;
}

parsed_number parse_double(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) return {0, number_problem::not_a_number};
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec == std::errc::result_out_of_range && read.ptr == end) return beyond_range(text, negative);
    if (read.ec != std::errc{} || read.ptr != end) return {0, number_problem::not_a_number};
    const bool spelled_out = text[0] == 'i' || text[0] == 'I';
    if (std::isinf(value) && !spelled_out) return {0, number_problem::too_large};
    return {negative ? -value : value};
}

parsed_number parse_double(std::string_view field, const char* readable_end) {
    constexpr std::size_t longest = 24, after = 16;
    if (field.size() <= longest &&
        readable_end - field.data() >= static_cast<std::ptrdiff_t>(longest + after)) {
        const char* at = field.data();
        double value = 0;
        if (take_short_decimal(at, value) && at == field.data() + field.size()) return {value};
    }
    return parse_double(field);
}

}  // namespace quern::io
