// SPDX-License-Identifier: Apache-2.0
// Messages of readers about a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::io {

/// The first refused line of a block. `line` counts from 1 within the block; 0: none.
struct line_issue {
    std::uint64_t line = 0;
    std::string reason;
    explicit operator bool() const { return line != 0; }
};

/// An excerpt of the file, without bytes that would break a line or a terminal.
inline std::string quoted(std::string_view text) {
    std::string shown = "'";
    for (const char c : text.substr(0, 40)) shown += c >= ' ' && c < 0x7f ? c : '?';
    return shown.append(text.size() > 40 ? "…'" : "'");
}

}  // namespace quern::io
