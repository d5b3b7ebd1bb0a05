// SPDX-License-Identifier: Apache-2.0
// Where a long document is cut, so that several threads read its words.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/ascii.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "text/text_cuts.hpp"

namespace quern {

inline constexpr std::size_t piece_bytes_of_document = std::size_t{1} << 18;

/// A place between lines after `from`: in the second half of text[from, from + bytes] if there is one, else the next. The end of
/// the text if there is none.
inline std::size_t cut_lines(std::string_view text, std::size_t from, std::size_t bytes) {
    if (text.size() - from <= bytes) return text.size();
    const std::size_t middle = from + bytes / 2;
    std::size_t line = text.substr(middle, from + bytes - middle).rfind('\n');
    if (line != std::string_view::npos) return middle + line + 1;
    line = text.find('\n', from + bytes);
    return line == std::string_view::npos ? text.size() : line + 1;
}

/// A place between words, as text::cut_text. `tokenized`: words are separated by white space, and each line is a sentence. A
/// verbatim document has no sentences.
inline text::text_cut cut_document(const document& d, std::size_t from, std::size_t bytes, bool tokenized,
                                   token_rule rule) {
    const std::string_view text = d.text;
    if (d.verbatim) {
        const std::size_t at = cut_lines(text, from, bytes);
        return {at, at == text.size()};
    }
    if (!tokenized) return text::cut_text(text, from, bytes, rule);
    if (text.size() - from <= bytes) return {text.size(), true};
    const std::size_t middle = from + bytes / 2, end = from + bytes;
    const std::size_t line = text.substr(middle, end - middle).rfind('\n');
    if (line != std::string_view::npos) return {middle + line + 1, true};
    const auto separates = [](char c) { return is_space(c) || c == '\0'; };
    std::size_t at = end;
    while (at > middle && !separates(text[at - 1])) --at;
    if (at == middle) at = end;
    while (at < text.size() && !separates(text[at - 1])) ++at;
    return {at, at == text.size() || text[at - 1] == '\n'};
}

}  // namespace quern
