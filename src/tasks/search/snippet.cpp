// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/snippet.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ascii.hpp"

namespace quern {
namespace {

using match = search_detail::passage_match;

/// A quick test that rejects nearly all words of a text: no word of a set begins with this byte and has this length.
class glance {
  public:
    explicit glance(std::span<const std::string> wanted) {
        for (const std::string& word : wanted)
            if (!word.empty()) lengths_[static_cast<unsigned char>(word[0])] |= bit_of(word.size());
    }
    bool lets_pass(std::string_view word) const {
        return !word.empty() && (lengths_[static_cast<unsigned char>(word[0])] & bit_of(word.size())) != 0;
    }

  private:
    static std::uint64_t bit_of(std::size_t length) {
        return std::uint64_t{1} << std::min<std::size_t>(length, 63);
    }
    std::array<std::uint64_t, 256> lengths_{};  // of words by their first byte; the last bit: 63 and more
};

void find_words(const text::token_list& words, std::span<const std::string> wanted,
                std::vector<match>& matches) {
    const glance first(wanted);
    for (const text::token& t : words.tokens) {
        const std::string_view word = words.word(t);
        if (!first.lets_pass(word)) continue;
        const auto at = std::lower_bound(wanted.begin(), wanted.end(), word);
        if (at == wanted.end() || *at != word) continue;
        matches.push_back({static_cast<std::uint32_t>(at - wanted.begin()), t.source_begin, t.source_end});
    }
}

void find_phrase(const text::token_list& words, std::span<const std::string> phrase, std::uint32_t what,
                 std::vector<match>& matches) {
    const auto same = [&](const text::token& t, const std::string& word) { return words.word(t) == word; };
    const auto end = words.tokens.end();
    for (auto at = words.tokens.begin(); at != end; ++at) {
        at = std::search(at, end, phrase.begin(), phrase.end(), same);
        if (at == end) break;
        const auto& last = *(at + static_cast<std::ptrdiff_t>(phrase.size() - 1));
        matches.push_back({what, at->source_begin, last.source_end});
    }
}

/// All matches by begin; none ends before an earlier one does.
std::vector<match> find_matches(const text::token_list& words, const sought_terms& sought) {
    std::vector<match> matches;
    find_words(words, sought.words, matches);
    if (sought.phrases.empty()) return matches;
    auto what = static_cast<std::uint32_t>(sought.words.size());
    for (const auto& phrase : sought.phrases) find_phrase(words, phrase, what++, matches);
    std::ranges::stable_sort(matches, {}, &match::begin);
    std::uint32_t end = 0;  // of a phrase that contains what follows
    for (match& m : matches) m.end = end = std::max(end, m.end);
    return matches;
}

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// Moves `at` back to the beginning of a word or, in scripts without spaces, of a character; at most 40
/// bytes.
std::size_t back_to_word(std::string_view text, std::size_t at) {
    const std::size_t limit = at > 40 ? at - 40 : 0;
    for (std::size_t i = at; i > limit; --i) {
        if (is_space(text[i - 1])) return i;
    }
    if (limit == 0) return 0;
    while (at > 0 && is_continuation(text[at])) --at;
    return at;
}

std::size_t back_to_word_end(std::string_view text, std::size_t at) {
    if (at >= text.size()) return text.size();
    const std::size_t limit = at > 40 ? at - 40 : 0;
    for (std::size_t i = at; i > limit; --i) {
        if (is_space(text[i])) return i;
    }
    while (at > 0 && is_continuation(text[at])) --at;
    return at;
}

void append_one_line(std::string& out, std::string_view passage) {
    bool space = false;
    for (const char c : passage) {
        if (is_space(c)) {
            space = true;
            continue;
        }
        if (space && !out.empty()) out += ' ';
        space = false;
        out += c;
    }
}

}  // namespace

void snippet_finder::look_through(const text::token_list& words, std::size_t begin) {
    const auto before = static_cast<std::uint32_t>(begin);
    for (const match& m : find_matches(words, sought_))
        matches_.push_back({m.what, before + m.begin, before + m.end});
}

std::string snippet_finder::passage(std::string_view text, std::size_t max_bytes) const {
    const search_detail::match_range core =
        search_detail::best_match_range(matches_, sought_.weights, max_bytes);
    // The remaining length goes before and after the matches, a third and two thirds.
    const std::size_t spare = max_bytes > core.end - core.begin ? max_bytes - (core.end - core.begin) : 0;
    std::size_t begin = core.begin > spare / 3 ? back_to_word(text, core.begin - spare / 3) : 0;
    // A match that is much longer, such as a word of encoded bytes, is cut.
    const std::size_t shown = std::min<std::size_t>(core.end, core.begin + 2 * max_bytes);
    std::size_t end = back_to_word_end(text, std::max(begin + max_bytes, shown));
    end = std::max<std::size_t>(end, shown == core.end ? core.end : core.begin);
    while (begin < end && is_space(text[begin])) ++begin;
    while (end > begin && is_space(text[end - 1])) --end;

    std::string line;
    append_one_line(line, text.substr(begin, end - begin));
    if (line.empty()) return line;
    if (begin > 0 && std::ranges::any_of(text.substr(0, begin), [](char c) { return !is_space(c); })) {
        line.insert(0, "… ");
    }
    if (std::ranges::any_of(text.substr(end), [](char c) { return !is_space(c); })) line += " …";
    return line;
}

std::size_t first_piece(std::string_view text, std::size_t max) {
    if (text.size() <= max) return text.size();
    for (const char end : {'\n', ' '}) {
        if (const std::size_t at = text.rfind(end, max - 1); at != std::string_view::npos) return at + 1;
    }
    std::size_t at = max;
    while (at > 1 && max - at < 3 && is_continuation(text[at])) --at;
    return at;
}

std::string snippet(std::string_view text, const text::token_list& words, const sought_terms& sought,
                    std::size_t max_bytes) {
    snippet_finder finder(sought);
    finder.look_through(words, 0);
    return finder.passage(text, max_bytes);
}

}  // namespace quern
