// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/markdown_limits.hpp"

#include <algorithm>
#include <cstddef>

#include "base/ascii.hpp"

namespace quern::io {

std::uint64_t parser_bytes(std::string_view text) {
    constexpr std::string_view marks = "\\*_`&;<>[]!:|~";
    constexpr std::uint64_t a_mark = 56, a_line = 80;
    std::uint64_t bytes = 0;
    for (const char c : text) {
        if (c == '\n') bytes += a_line;
        if (marks.find(c) != std::string_view::npos) bytes += a_mark;
    }
    return bytes;
}

std::string with_short_paragraphs(std::string_view text) {
    constexpr std::size_t longest = 128 << 10;
    std::string out;
    std::size_t begin = 0, copied = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (trimmed(text.substr(at, end - at)).empty()) {
            begin = end;
        } else if (end - begin > longest && at > begin) {
            out.append(text.substr(copied, at - copied)).append("\n");
            copied = begin = at;
        }
        at = end + 1;
    }
    if (copied != 0) out.append(text.substr(copied));
    return out;
}

}  // namespace quern::io
