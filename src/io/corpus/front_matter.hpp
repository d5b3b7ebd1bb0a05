// SPDX-License-Identifier: Apache-2.0
// What stands before a markdown text and is not part of it: YAML between lines of "---", TOML between lines of "+++", as
// the makers of static sites and pandoc take it. Only the title is read of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quern::io {

struct front_matter {
    std::size_t bytes = 0;  ///< with its last line's end; 0 where there is none
    std::string title;      ///< without quotes; empty where none is given
};

/// The one that opens `text`. Between its two marks every line must be one that YAML (or TOML) may have at its outermost
/// level: else "---" is a rule across the page, and what follows is text.
front_matter read_front_matter(std::string_view text);

}  // namespace quern::io
