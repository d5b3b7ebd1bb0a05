// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

namespace quern::cli {
namespace {

/// The number `text` begins with; `text` moves behind it.
double take_number(std::string_view& text) {
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || !std::isfinite(value)) {
        throw usage_error(fmt::format("'{}' is not a number", text));
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

/// The factor a unit of size stands for; 0 for an unknown unit.
double size_factor(std::string_view unit) {
    if (unit.empty() || unit == "B" || unit == "b") return 1;
    constexpr std::string_view letters = "KMGTP";
    const char letter = unit[0] >= 'a' && unit[0] <= 'z' ? static_cast<char>(unit[0] - 'a' + 'A') : unit[0];
    const auto power = letters.find(letter);
    if (power == std::string_view::npos) return 0;
    const std::string_view rest = unit.substr(1);
    const bool decimal = rest == "B" || rest == "b";
    if (!decimal && !rest.empty() && rest != "i" && rest != "iB" && rest != "ib") return 0;
    return std::pow(decimal ? 1000.0 : 1024.0, static_cast<double>(power + 1));
}

}  // namespace

std::uint64_t parse_integer(std::string_view text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failure] = std::from_chars(text.data(), last, value);
    if (failure != std::errc{} || end != last || value < least || value > most) {
        const std::string range =
            most == UINT64_MAX ? fmt::format("from {}", least) : fmt::format("from {} to {}", least, most);
        throw usage_error(fmt::format("'{}' is not a whole number {}", text, range));
    }
    return value;
}

double parse_number(std::string_view text) {
    std::string_view rest = text;
    const double value = take_number(rest);
    if (!rest.empty()) throw usage_error(fmt::format("'{}' is not a number", text));
    return value;
}

std::vector<double> parse_numbers(std::string_view text) {
    std::vector<double> numbers;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find_first_of(", ", begin), text.size());
        numbers.push_back(parse_number(text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return numbers;
}

std::uint64_t parse_size(std::string_view text) {
    std::string_view unit = text;
    double bytes = 0;
    try {
        bytes = take_number(unit);
    } catch (const usage_error&) {
        unit = "?";
    }
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    bytes *= size_factor(unit);
    if (!(bytes >= 1) || bytes >= 0x1p63) {
        throw usage_error(fmt::format("'{}' is not a size such as 4096, 512M or 1.5GiB", text));
    }
    return static_cast<std::uint64_t>(bytes);
}

error_limit parse_error_limit(std::string_view text) {
    error_limit limit;
    limit.forgives_incomplete = true;  // whoever says how much may be lost has thought of it
    limit.is_share = text.ends_with('%');
    try {
        if (limit.is_share) {
            const double percent = parse_number(text.substr(0, text.size() - 1));
            if (!(percent >= 0 && percent <= 100)) throw usage_error("out of range");
            limit.share = percent / 100;
        } else {
            limit.count = parse_integer(text, 0, UINT64_MAX);
        }
    } catch (const usage_error&) {
        throw usage_error(fmt::format("'{}' is neither a number of documents nor a share such as 1%", text));
    }
    return limit;
}

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
    return text;
}

std::string counted(std::uint64_t number, std::string_view noun) {
    return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string in_bytes(double bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
    return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

}  // namespace quern::cli
