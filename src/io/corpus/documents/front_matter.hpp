// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quern::io {

/// Front matter, which precedes a markdown text and is not part of it: YAML between lines of "---", TOML between lines
/// of "+++", as static-site generators and pandoc use it. Only the title is read.
struct front_matter {
    std::size_t bytes = 0;  ///< including its last line's end; 0 if there is none
    std::string title;      ///< without quotes; empty if there is none
};

/// The front matter at the beginning of `text`. Between its two marks every line must be valid at the outermost level
/// of YAML (or TOML): otherwise "---" is a horizontal rule, and what follows is text.
front_matter read_front_matter(std::string_view text);

}  // namespace quern::io
