// SPDX-License-Identifier: Apache-2.0
// The values of options: text as typed to numbers, sizes and choices. Each throws usage_error that says what
// was expected; none accepts half of a text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"

namespace quern::cli {

std::uint64_t parse_integer(std::string_view text, std::uint64_t least, std::uint64_t most);
double parse_number(std::string_view text);
/// Numbers with a comma or a blank between.
std::vector<double> parse_numbers(std::string_view text);
/// `4096`, `512K`, `1.5G`, `2GiB`, `2GB`: a letter alone and KiB, MiB … are powers of 1,024; KB, MB … of
/// 1,000.
std::uint64_t parse_size(std::string_view text);
/// `100` documents, or `2.5%` of them.
error_limit parse_error_limit(std::string_view text);

template <typename Choice>
Choice parse_choice(std::string_view text,
                    std::initializer_list<std::pair<std::string_view, Choice>> choices) {
    std::string expected;
    for (const auto& [name, choice] : choices) {
        if (text == name) return choice;
        expected.append(expected.empty() ? "" : ", ").append(name);
    }
    throw usage_error("'" + std::string(text) + "' is none of " + expected);
}

/// A choice whose values are numbered as its names are.
template <typename Choice>
Choice parse_name(std::string_view text, std::span<const std::string_view> names) {
    const auto at = std::ranges::find(names, text);
    if (at != names.end()) return static_cast<Choice>(at - names.begin());
    std::string expected;
    for (const std::string_view name : names) expected.append(expected.empty() ? "" : ", ").append(name);
    throw usage_error("'" + std::string(text) + "' is none of " + expected);
}

/// Numbers and sizes for people: 12,345 and 1.5 GiB.
std::string grouped(std::uint64_t number);
std::string in_bytes(double bytes);
/// "1 link", "1,200 links".
std::string counted(std::uint64_t number, std::string_view noun);

}  // namespace quern::cli
