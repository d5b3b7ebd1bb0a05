// SPDX-License-Identifier: Apache-2.0
// Two kinds of places need no look at the text before them. After a line feed a word and a sentence begin, by every set of rules
// (UAX #29: WB3a, SB4). Between a blank and a letter a word begins, too. No sentence ends there if the blank follows a word of
// letters: the mark that ends a sentence would be between them, and no rule looks for one across a letter (SB8).
#include "text/text_cuts.hpp"

#include <unicode/uchar.h>

#include <algorithm>
#include <cstdint>

#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace quern::text {
namespace {

/// Whether it is a letter, and a word or a part of one.
bool is_letter(char32_t code_point, token_rule rule) {
    if (code_point == ill_formed) return false;
    const auto c = static_cast<UChar32>(code_point);
    if (rule == token_rule::ascii || rule == token_rule::letters)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    // Others may be folded to nothing, or to blanks and marks.
    const bool has_form = c < 0x3000 || (c >= 0xAC00 && c <= 0xD7A3);
    if (!has_form || u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) != 0) return false;
    const std::int32_t kind = u_getIntPropertyValue(c, UCHAR_SENTENCE_BREAK);
    return kind == U_SB_LOWER || kind == U_SB_UPPER || kind == U_SB_OLETTER;
}

/// Whether text[at - 1] is a blank between a word of letters and a letter; 1 < at < text.size(). (A sentence may end within a
/// word of other characters, to which the word does not belong then.)
bool is_between_letters(std::string_view text, std::size_t at, token_rule rule) {
    constexpr std::size_t longest = 64;
    std::size_t next = at;
    if (!is_letter(next_utf8(text, next), rule)) return false;
    std::size_t begin = at - 1;
    const std::size_t least = begin - std::min(begin, longest);
    while (begin != least && !is_space(text[begin - 1])) --begin;
    if (begin == at - 1 || (begin == least && begin != 0)) return false;
    while (begin != at - 1)
        if (!is_letter(next_utf8(text, begin), rule)) return false;
    return true;
}

bool is_letter_or_ideograph(char32_t code_point, token_rule rule) {
    const bool is_word = rule == token_rule::unicode || rule == token_rule::blanks;
    return (is_word && code_point >= 0x4E00 && code_point < 0xA000) || is_letter(code_point, rule);
}

/// Whether text[at - 1] is a line feed between lines of one paragraph: a letter is near before it, and next after it. (A word
/// between blanks may have the end of a paragraph in it.)
bool is_between_lines(std::string_view text, std::size_t at, token_rule rule) {
    constexpr std::size_t nearest = 256;
    constexpr char32_t paragraph_separator = 0x2029;
    std::size_t next = at;
    if (!is_letter_or_ideograph(next_utf8(text, next), rule)) return false;
    const std::size_t least = at - 1 - std::min(at - 1, nearest);
    bool has_letter = false;
    for (std::size_t begin = at - 1; begin != least;) {
        --begin;
        while (begin != least && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) --begin;
        next = begin;
        const char32_t before = next_utf8(text, next);
        if (before == paragraph_separator) return false;
        if (before == U'\n' || (has_letter && is_space(text[begin]))) return has_letter;
        has_letter = has_letter || is_letter_or_ideograph(before, rule);
        if (has_letter && rule != token_rule::blanks) return true;
    }
    return has_letter && least == 0;
}

/// Whether a word begins at `at` and no paragraph ends before it; 1 < at < text.size().
bool goes_on_with_word(std::string_view text, std::size_t at, token_rule rule) {
    return text[at - 1] == '\n' ? is_between_lines(text, at, rule)
                                : text[at - 1] == ' ' && is_between_letters(text, at, rule);
}

}  // namespace

text_cut cut_text(std::string_view text, std::size_t from, std::size_t bytes, token_rule rule) {
    if (text.size() - from <= bytes) return {text.size(), true};
    const std::size_t middle = from + bytes / 2, last = from + bytes;
    const std::size_t line = text.substr(middle, last - middle).rfind('\n');
    if (line != std::string_view::npos) return {middle + line + 1, true};
    for (std::size_t at = last; at > std::max<std::size_t>(middle, from + 1); --at)
        if (text[at - 1] == ' ' && is_between_letters(text, at, rule)) return {at, false};
    for (std::size_t at = last + 1; at < text.size(); ++at) {
        if (text[at - 1] == '\n') return {at, true};
        if (text[at - 1] == ' ' && is_between_letters(text, at, rule)) return {at, false};
    }
    return {text.size(), true};
}

std::size_t cut_within_paragraph(std::string_view text, std::size_t from, std::size_t bytes,
                                 token_rule rule) {
    if (text.size() - from <= bytes) return text.size();
    const std::size_t middle = from + bytes / 2, last = from + bytes;
    for (std::size_t at = last; at > std::max<std::size_t>(middle, from + 1); --at)
        if (goes_on_with_word(text, at, rule)) return at;
    for (std::size_t at = last + 1; at < text.size(); ++at)
        if (goes_on_with_word(text, at, rule)) return at;
    return text.size();
}

}  // namespace quern::text
