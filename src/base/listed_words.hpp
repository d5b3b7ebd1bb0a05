// SPDX-License-Identifier: Apache-2.0
// The text of a document that is a list of words (quern::word_listing): a line for each word, which ends with a tab and a
// number. Words have no line end; they may have tabs.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace quern {

/// Appends a line; `number`: a count, or a weight as the shortest decimal that reads back as the same float.
template <typename Number>
void append_listed(std::string& text, std::string_view word, Number number) {
    constexpr std::size_t longest = 48;
    if (!text.empty()) text += '\n';
    text.append(word) += '\t';
    const std::size_t size = text.size();
    text.resize(size + longest);
    const auto end = std::to_chars(text.data() + size, text.data() + size + longest, number).ptr;
    text.resize(static_cast<std::size_t>(end - text.data()));
}

/// Calls use(word, number) for each line, in order; a number that does not read as a Number is 0.
template <typename Number, typename Use>
void each_listed(std::string_view text, Use use) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t tab = line.rfind('\t');
        if (tab == std::string_view::npos) continue;
        Number number = 0;
        std::from_chars(line.data() + tab + 1, line.data() + line.size(), number);
        use(line.substr(0, tab), number);
    }
}

/// Weights on their way into posting lists are 32 bits: those of the float.
inline std::uint32_t bits_of_weight(float weight) {
    return std::bit_cast<std::uint32_t>(weight);
}

}  // namespace quern
