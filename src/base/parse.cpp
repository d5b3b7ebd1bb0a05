// SPDX-License-Identifier: Apache-2.0
#include "quern/base/parse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/grouped.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

usage_error refusal(std::string_view kind, std::string_view text, std::string_view expected) {
    return usage_error("invalid " + std::string(kind) + " '" + shown(text) + "' (expected " +
                       std::string(expected) + ")");
}

/// Parses the number at the start of `text` and removes it from `text`.
double take_number(std::string_view& text) {
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || !std::isfinite(value)) {
        throw refusal("value", text, "a number");
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
    return std::string(text.substr(0, end)) + "… (" + grouped(text.size()) + " bytes)";
}

std::uint64_t parse_integer(std::string_view text, std::uint64_t min, std::uint64_t max) {
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failure] = std::from_chars(text.data(), last, value);
    if (failure != std::errc{} || end != last || value < min || value > max) {
        const std::string range = max == UINT64_MAX
                                      ? "of at least " + std::to_string(min)
                                      : "from " + std::to_string(min) + " to " + std::to_string(max);
        throw refusal("value", text, "a whole number " + range);
    }
    return value;
}

double parse_number(std::string_view text) {
    std::string_view rest = text;
    const double value = take_number(rest);
    if (!rest.empty()) throw refusal("value", text, "a number");
    return value;
}

std::vector<double> parse_numbers(std::string_view text) {
    const auto skip_blanks = [&text] {
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    };
    std::vector<double> numbers;
    skip_blanks();
    do {
        const std::size_t end = std::min(text.find_first_of(", "), text.size());
        numbers.push_back(parse_number(text.substr(0, end)));
        text.remove_prefix(end);
        skip_blanks();
        if (text.empty()) return numbers;
        if (text.front() != ',') continue;
        text.remove_prefix(1);
        skip_blanks();
    } while (true);
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
        throw refusal("size", text, "a number of bytes such as 4096, 512M or 1.5GiB");
    }
    return static_cast<std::uint64_t>(bytes);
}

device_choice parse_device(std::string_view text) {
    using kind = device_choice::kind;
    if (text == "auto") return {kind::automatic};
    if (text == "cpu") return {kind::cpu};
    if (text == "cuda") return {kind::cuda};
    if (text == "cuda:all") return {kind::cuda, device_choice::all_ordinals};
    constexpr std::string_view numbered = "cuda:";
    if (text.starts_with(numbered)) {
        try {
            std::vector<int> ordinals;
            for (std::string_view rest = text.substr(numbered.size());;) {
                const auto comma = rest.find(',');
                const int ordinal = static_cast<int>(parse_integer(rest.substr(0, comma), 0, 1023));
                if (std::ranges::find(ordinals, ordinal) != ordinals.end())
                    throw usage_error("a GPU occurs twice");
                ordinals.push_back(ordinal);
                if (comma == rest.npos) break;
                rest.remove_prefix(comma + 1);
            }
            return {kind::cuda, ordinals[0], {ordinals.begin() + 1, ordinals.end()}};
        } catch (const usage_error&) {
        }
    }
    throw refusal("device", text, "auto, cpu, cuda, cuda:N, cuda:N,M (different GPUs) or cuda:all");
}

}  // namespace quern
