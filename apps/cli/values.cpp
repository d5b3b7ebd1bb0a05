// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

namespace quern::cli {
namespace {

/// Parses the number at the start of `text` and removes it from `text`.
double take_number(std::string_view& text) {
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || !std::isfinite(value)) {
        throw usage_error(fmt::format("invalid value '{}' (expected a number)", shown(text)));
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

/// The factor of a size suffix; 0 for an unknown one.
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

std::string shown(std::string_view text) {
    constexpr std::size_t max = 80;
    if (text.size() <= max) return std::string(text);
    std::size_t end = max - 20;
    while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80)
        --end;  // not in the middle of a character
    return fmt::format("{}… ({} bytes)", text.substr(0, end), grouped(text.size()));
}

std::string file_name(const std::string& text) {
    if (text.empty()) throw usage_error("the name is empty (expected the name of a file or folder)");
    return text;
}

std::string output_name(const std::string& text) {
    const bool is_standard = text == "/dev/stdout" || text == "/dev/fd/1" || text == "/proc/self/fd/1";
    return is_standard ? "-" : file_name(text);
}

std::uint64_t parse_integer(std::string_view text, std::uint64_t min, std::uint64_t max) {
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failure] = std::from_chars(text.data(), last, value);
    if (failure != std::errc{} || end != last || value < min || value > max) {
        const std::string range =
            max == UINT64_MAX ? fmt::format("of at least {}", min) : fmt::format("from {} to {}", min, max);
        throw usage_error(fmt::format("invalid value '{}' (expected a whole number {})", shown(text), range));
    }
    return value;
}

double parse_number(std::string_view text) {
    std::string_view rest = text;
    const double value = take_number(rest);
    if (!rest.empty()) throw usage_error(fmt::format("invalid value '{}' (expected a number)", shown(text)));
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
        throw usage_error(fmt::format(
            "invalid size '{}' (expected a number of bytes such as 4096, 512M or 1.5GiB)", shown(text)));
    }
    return static_cast<std::uint64_t>(bytes);
}

error_limit parse_error_limit(std::string_view text) {
    error_limit limit;
    limit.forgives_incomplete = true;  // giving a limit is a deliberate choice
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
        throw usage_error(fmt::format(
            "invalid value '{}' (expected a number of documents or a share such as 1%)", shown(text)));
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
