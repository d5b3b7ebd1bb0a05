// SPDX-License-Identifier: Apache-2.0
// Messages of the readers of retrieval experiments about a line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quern::io {

inline constexpr std::size_t longest_trec_line = std::size_t{1} << 20;

/// An excerpt of the file, without bytes that would break a line or a terminal.
inline std::string quoted_field(std::string_view text) {
    std::string shown = "\"";
    for (const char c : text.substr(0, 40)) shown += c >= ' ' && c < 0x7f ? c : '?';
    return shown.append(text.size() > 40 ? "…\"" : "\"");
}

inline std::string repeated_document(std::string_view document, std::string_view topic) {
    return "duplicate document " + quoted_field(document) + " in topic " + quoted_field(topic);
}

}  // namespace quern::io
