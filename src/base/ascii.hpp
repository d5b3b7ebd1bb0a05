// SPDX-License-Identifier: Apache-2.0
// ASCII letters and blanks, independent of the locale, as markup and line formats use them. Bytes of other characters
// pass unchanged.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace quern {

inline constexpr std::string_view ascii_space = " \t\n\v\f\r";

constexpr bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/// HTML's definition of white space: excludes the vertical tab.
constexpr bool is_html_space(char c) {
    return is_space(c) && c != '\v';
}

/// Without leading and trailing blanks.
constexpr std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(ascii_space), text.size()));
    return text.substr(0, text.find_last_not_of(ascii_space) + 1);
}

inline std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    }
    return out;
}

/// The part after the last '/'.
constexpr std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace quern
