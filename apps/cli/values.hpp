// SPDX-License-Identifier: Apache-2.0
// Parsers for the values of options: text to numbers, sizes and choices. Each throws a usage_error that says
// what was expected; none accepts trailing text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"
#include "quern/tasks/build.hpp"

namespace quern::cli {

/// The name of a file or folder. An empty one is refused: it usually comes from an unset variable in a script.
std::string file_name(const std::string& text);
/// The same of results that may go to standard output: "-" for /dev/stdout and its other names too.
std::string output_name(const std::string& text);

/// A choice whose enumerators have the same order as its names.
template <typename Choice>
Choice parse_name(std::string_view text, std::span<const std::string_view> names) {
    const auto at = std::ranges::find(names, text);
    if (at != names.end()) return static_cast<Choice>(at - names.begin());
    std::string expected;
    for (const std::string_view name : names) expected.append(expected.empty() ? "" : ", ").append(name);
    throw usage_error("invalid value '" + shown(text) + "' (expected one of " + expected + ")");
}

/// Names separated by commas, and blanks around these.
std::vector<std::string> parse_list(std::string_view text);

/// Numbers and sizes for people: 12,345 and 1.5 GiB.
std::string grouped(std::uint64_t number);
std::string in_bytes(double bytes);
/// "1 link", "1,200 links".
std::string counted(std::uint64_t number, std::string_view noun);

}  // namespace quern::cli
