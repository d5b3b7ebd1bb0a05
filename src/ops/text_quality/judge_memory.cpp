// SPDX-License-Identifier: Apache-2.0
#include "ops/text_quality/judge_memory.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "ops/text_quality/characters.hpp"
#include "ops/text_quality/chosen_rules.hpp"
#include "ops/text_quality/rule_numbers.hpp"

namespace quern::text_quality {
namespace {

using namespace rule_numbers;

/// For a word: 4 bytes in each of three arrays; as many n-grams as words at most, of 16 bytes in a list, which is there twice while
/// it grows, and of 8 to 16 in slots; 8 for the first place of each.
constexpr std::uint64_t bytes_of_ngrams = 3 * 4 + 2 * 16 + 8 + 8;
/// For a line: a view in a list; a number with its key and slots; a view of the first of each, twice while that list grows.
constexpr std::uint64_t bytes_of_parts = 16 + 16 + 16 + 2 * 16;
/// The text that is left twice, while it grows, and that of the group before.
constexpr std::uint64_t copies = 3;
/// Of a line, which may be the whole text: without citations and in lower case, each twice while it grows.
constexpr std::uint64_t copies_of_a_line = 4;

/// Whether no word ends between this character and one of its kind: letters of alphabets, by UAX #29 and white space alike.
bool is_joined(char32_t c) {
    if (c < 0x80) return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    const bool has_dot = c == 0x13F || c == 0x140 || c == 0x149;  // when it is folded
    return (c >= 0xC0 && c <= 0x24F && c != 0xD7 && c != 0xF7 && !has_dot) || (c >= 0x3A3 && c <= 0x3F5) ||
           (c >= 0x400 && c <= 0x481) || (c >= 0x620 && c <= 0x64A);
}

/// Whether a character may be folded to several words, such as a fraction.
bool may_be_words(char32_t c) {
    const bool is_dash_or_quote = c == 0x2013 || c == 0x2014 || (c >= 0x2018 && c <= 0x201D);
    return c >= 0x80 && !is_joined(c) && !is_dash_or_quote;
}

}  // namespace

judge_memory memory_of(const rule_choice& choice) {
    judge_memory memory;
    for (const chosen_group& group : choice.groups()) {
        const std::uint32_t base = quality_groups()[group.group].first;
        switch (base) {
            case min_characters:
            case gopher_min_words:
                memory.finds_words = true;
                break;
            case repetition_min_characters:
                if (any_on(group.rules, base, duplicate_paragraphs, top_2_gram))
                    memory.a_line = bytes_of_parts;
                if (!any_on(group.rules, base, top_2_gram, duplicate_10_grams + 1)) break;
                memory.a_word = bytes_of_ngrams;
                memory.finds_words = true;
                break;
            case c4_bad_words:
                memory.a_byte = copies + copies_of_a_line;
                break;
            case min_paragraphs:
                break;
            case fineweb_min_lines:
                memory.a_line = bytes_of_parts;
                memory.finds_words =
                    memory.finds_words || any_on(group.rules, base, fineweb_line_ends, fineweb_line_ends + 1);
                break;
            default:
                memory.a_byte = std::max(memory.a_byte, copies);
        }
    }
    return memory;
}

word_bounds words_at_most(std::string_view text) {
    word_bounds found;
    std::uint64_t characters = 0, runs = 0;  // of what is between white space
    bool is_inside = false;                  // a run that is one word
    bool is_apart = false;  // each character may be a word: those of a word that is several are symbols
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = next_utf8(text, at);
        if (is_white_space(c)) {
            found.words += is_apart ? characters : runs;
            characters = runs = 0;
            is_inside = is_apart = false;
            continue;
        }
        const bool joins = is_joined(c);
        ++characters;
        runs += is_inside && joins ? 0 : 1;
        found.symbols += c < 0x80 && !joins && c != '_' ? 1 : 0;
        is_inside = joins;
        is_apart = is_apart || may_be_words(c);
    }
    found.words += is_apart ? characters : runs;
    return found;
}

std::uint64_t lines_at_most(std::string_view text) {
    return 1 + static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

}  // namespace quern::text_quality
