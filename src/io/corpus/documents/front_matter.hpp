// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::io {

/// Front matter, which precedes a markdown text and is not part of it: YAML between lines of "---", TOML between lines
/// of "+++", as static-site generators and pandoc use it. Of its outermost level the title is read, and what else has a
/// value that is a string, a number, a truth value or a list of these.
struct front_matter {
    std::size_t bytes = 0;  ///< including its last line's end; 0 if there is none
    std::string title;      ///< without quotes; empty if there is none
    /// The other members, each with its value in JSON. Unquoted numbers, `true` and `false` keep their type, numbers as they
    /// are written; `null` is left out; all else is a string.
    std::vector<std::pair<std::string, std::string>> fields;
};

/// The front matter at the beginning of `text`. Between its two marks every line must be valid at the outermost level
/// of YAML (or TOML): otherwise "---" is a horizontal rule, and what follows is text.
front_matter read_front_matter(std::string_view text);

}  // namespace quern::io
