// SPDX-License-Identifier: Apache-2.0
// The words of a text, sentence by sentence.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/ascii.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// Whether a line without words is a sentence.
enum class empty_lines { count, do_not_count };

/// A text of words separated by white space, with a sentence on each line: calls add(word) for each word, and end() after
/// each sentence.
template <class Add, class End>
void for_each_line_word(std::string_view text, empty_lines empty, const Add& add, const End& end) {
    const auto separates = [](char c) { return is_space(c) || c == '\0'; };
    bool has_words = false;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '\n' && (std::exchange(has_words, false) || empty == empty_lines::count)) end();
        if (separates(text[at])) {
            ++at;
            continue;
        }
        const std::size_t begin = at;
        while (at < text.size() && !separates(text[at])) ++at;
        add(text.substr(begin, at - begin));
        has_words = true;
    }
    if (has_words || (empty == empty_lines::count && !text.empty() && text.back() != '\n')) end();
}

/// The same for analysed words; a sentence without words is none.
template <class Add, class End>
void for_each_sentence_word(const text::token_list& words, const Add& add, const End& end) {
    std::uint32_t at = 0;
    const auto add_until = [&](std::uint32_t last) {
        const bool has_words = at < last;
        for (; at < last; ++at) add(words.word(words.tokens[at]));
        if (has_words) end();
    };
    for (const std::uint32_t last : words.sentence_ends) add_until(last);
    add_until(static_cast<std::uint32_t>(words.tokens.size()));
}

}  // namespace quern
