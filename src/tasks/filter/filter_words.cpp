// SPDX-License-Identifier: Apache-2.0
#include "tasks/filter/filter_words.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/release.hpp"
#include "base/utf8.hpp"
#include "ops/text_quality/characters.hpp"
#include "text/letters.hpp"
#include "text/text_cuts.hpp"

namespace quern {
namespace {

constexpr std::size_t part_bytes = 1 << 18;     ///< of a long text, whose words are found at once
constexpr std::size_t words_at_once = 1 << 16;  ///< of a long text, that are passed on

/// Where the run of word characters that begins at `at` ends.
std::size_t run_end(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        std::size_t next = at;
        if (!text::is_word_character(next_utf8(text, next))) break;
        at = next;
    }
    return at;
}

bool in_word_at(std::string_view text, std::size_t at) {
    return at < text.size() && text::is_word_character(next_utf8(text, at));
}

bool in_word_before(std::string_view text, std::size_t at) {
    if (at == 0) return false;
    std::size_t begin = text_quality::last_character(text.substr(0, at));
    return text::is_word_character(next_utf8(text, begin));
}

bool is_ascii_letter(char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

}  // namespace

std::size_t bad_words::hash::operator()(std::string_view text) const {
    return hash64(text);
}

bad_words::bad_words(const std::vector<std::string>& list) {
    for (const std::string& entry : list) {
        const std::string lower = text::lower_case(text_quality::trimmed(entry));
        if (lower.empty()) continue;
        const std::string first = lower.substr(0, run_end(lower, 0));
        if (first.empty()) {
            others_.push_back(lower);
        } else {
            by_first_[first].push_back(lower);
        }
    }
}

bool bad_words::is_in(std::string_view text) const {
    if (empty()) return false;
    const std::string lower = text::lower_case(text);
    const std::string_view all = lower;
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = run_end(all, at);
        if (end == at) {
            next_utf8(all, at);
            continue;
        }
        if (const auto same = by_first_.find(all.substr(at, end - at)); same != by_first_.end()) {
            for (const std::string& entry : same->second)
                if (all.substr(at).starts_with(entry) && !in_word_at(all, at + entry.size())) return true;
        }
        at = end;
    }
    for (const std::string& entry : others_) {
        for (std::size_t at = all.find(entry); at != std::string_view::npos; at = all.find(entry, at + 1))
            if (!in_word_before(all, at) && !in_word_at(all, at + entry.size())) return true;
    }
    return false;
}

filter_words::filter_words(word_split split, const bad_words& bad)
    : split_(split), bad_(bad), analyzer_(text_options{}) {}

void filter_words::add(std::string_view text, std::size_t begin, std::size_t end) {
    text_quality::quality_word word{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), 0,
                                    false, true};
    std::size_t at = begin;
    for (; at < end; ++at) {
        const auto c = static_cast<unsigned char>(text[at]);
        if (c >= 0x80) break;
        if (is_ascii_letter(text[at])) {
            word.has_letter = true;
            word.is_symbol = false;
        } else if (word.is_symbol) {
            word.is_symbol = text_quality::is_punctuation(c);
        }
    }
    word.characters = static_cast<std::uint32_t>(at - begin);
    for (; at < end; ++word.characters) {
        const char32_t c = next_utf8(text, at);
        word.has_letter = word.has_letter || text::is_letter(c);
        word.is_symbol = word.is_symbol && text_quality::is_punctuation(c);
    }
    words_.push_back(word);
    if (take_ != nullptr && words_.size() == words_at_once) pass_on();
}

void filter_words::pass_on() {
    (*take_)(words_);
    words_.clear();
}

void filter_words::add_symbols(std::string_view text, std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end;) {
        const std::size_t from = at;
        if (!text_quality::is_white_space(next_utf8(text, at))) add(text, from, at);
    }
}

void filter_words::add_words(std::string_view text, std::size_t from, std::size_t to) {
    const std::string_view part = text.substr(from, to - from);
    if (split_ == word_split::whitespace) {
        text_quality::for_each_part(part, [&](std::string_view word) {
            const auto begin = static_cast<std::size_t>(word.data() - text.data());
            add(text, begin, begin + word.size());
        });
        return;
    }
    analyzer_.analyze(part, tokens_);
    std::size_t end = from;
    for (const text::token& t : tokens_.tokens) {
        const std::size_t token_begin = from + t.source_begin, token_end = from + t.source_end;
        if (token_begin < end || token_end <= token_begin) continue;  // folded to several words
        add_symbols(text, end, token_begin);
        add(text, token_begin, token_end);
        end = token_end;
    }
    add_symbols(text, end, to);
}

std::span<const text_quality::quality_word> filter_words::words_of(std::string_view text) {
    words_.clear();
    add_words(text, 0, text.size());
    return words_;
}

void filter_words::words_in_parts(std::string_view text, take_words take) {
    words_.clear();
    take_ = &take;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text::cut_text(text, at, part_bytes).at;
        add_words(text, at, end);
        pass_on();
        at = end;
    }
    take_ = nullptr;
}

void filter_words::forget() {
    release(words_);
    release(tokens_.words);
    release(tokens_.tokens);
}

std::uint64_t filter_words::memory_of_words(std::string_view text, const text_quality::word_bounds& most) {
    // Lists count twice while they grow.
    constexpr std::uint64_t a_word = 2 * sizeof(text_quality::quality_word),
                            a_token = 2 * sizeof(text::token), a_byte = 2;
    if (text.size() <= text_quality::longest_text_at_once)
        return a_word * most.words + a_token * (most.words - most.symbols) + a_byte * text.size();
    std::uint64_t longest = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text::cut_text(text, at, part_bytes).at;
        longest = std::max<std::uint64_t>(longest, end - at);
        at = end;
    }
    return a_word * words_at_once + a_token * std::min(most.words - most.symbols, longest) + a_byte * longest;
}

filter_words::letter_counts filter_words::letters_of(std::string_view text) {
    letter_counts all;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = next_utf8(text, at);
        if (text::is_letter(c)) {
            ++all.letters;
            all.upper_case += text::is_upper_case(c) ? 1 : 0;
        } else {
            all.digits += text::is_decimal_digit(c) ? 1 : 0;
        }
    }
    return all;
}

}  // namespace quern
