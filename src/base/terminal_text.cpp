// SPDX-License-Identifier: Apache-2.0
#include "quern/base/terminal_text.hpp"

#include <cstddef>

#include "base/utf8.hpp"

namespace quern {
namespace {

bool is_control(char32_t c) {
    return c < 0x20 || c == 0x7F || c == 0x2028 || c == 0x2029;
}
bool is_foreign(char32_t c) {
    const bool c1 = c >= 0x80 && c < 0xA0;  // U+009B acts as ESC [
    const bool turns = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    return c == ill_formed || c1 || turns;
}
bool is_invisible_mark(char32_t c) {
    return c == 0x200E || c == 0x200F || c == 0x061C;
}

}  // namespace

std::string for_terminal(std::string_view text, terminal_lines lines) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t c = next_utf8(text, at);
        if (lines == terminal_lines::many && (c == '\n' || c == '\t')) {
            out += static_cast<char>(c);
        } else if (is_control(c)) {
            out += ' ';
        } else if (is_foreign(c)) {
            append_utf8(0xFFFD, out);
        } else if (!is_invisible_mark(c)) {
            out.append(text, begin, at - begin);
        }
    }
    return out;
}

}  // namespace quern
