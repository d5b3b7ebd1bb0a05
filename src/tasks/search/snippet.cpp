// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/snippet.hpp"

#include "base/ascii.hpp"
#include "base/canonical_math.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern {
namespace {

using match = snippet_match;

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

struct match_range {
    std::uint32_t begin = 0, end = 0;
};

/// The distinct terms among neighbouring matches.
class held_terms {
  public:
    explicit held_terms(std::span<const std::uint32_t> weights)
        : weights_(weights), counts_(weights.size()) {}
    void add(std::uint32_t term) {
        all_ += weights_[term];
        if (counts_[term]++ == 0) different_ += weights_[term];
    }
    void remove(std::uint32_t term) {
        all_ -= weights_[term];
        if (--counts_[term] == 0) different_ -= weights_[term];
    }
    bool repeats(std::uint32_t term) const { return counts_[term] > 1; }
    std::uint64_t different() const { return different_; }  ///< their weight
    std::uint64_t all() const { return all_; }              ///< that of all matches

  private:
    std::span<const std::uint32_t> weights_;
    std::vector<std::uint32_t> counts_;
    std::uint64_t different_ = 0, all_ = 0;
};

/// The criteria for comparing passages, in this order.
struct merit {
    std::uint64_t different = 0;
    int near = 0;  ///< larger is nearer
    std::uint64_t all = 0;
    auto operator<=>(const merit&) const = default;
};

/// The best passage from one match to another that is no longer than `max_bytes`. Two windows slide with the same end:
/// the longest one, and the shortest one that has all of its distinct terms. O(matches).
match_range best_match_range(const std::vector<match>& matches, std::span<const std::uint32_t> weights,
                             std::size_t max_bytes) {
    held_terms longest(weights), shortest(weights);
    merit best_merit;
    match_range best;
    for (std::size_t last = 0, first = 0, near = 0; last < matches.size(); ++last) {
        longest.add(matches[last].what);
        shortest.add(matches[last].what);
        while (first < last && matches[last].end - matches[first].begin > max_bytes)
            longest.remove(matches[first++].what);
        while (near < first || shortest.repeats(matches[near].what)) shortest.remove(matches[near++].what);
        // A phrase before it may extend past the last match.
        const std::uint32_t begin = std::min(matches[near].end, matches[last].begin);
        const merit of = {longest.different(),
                          -static_cast<int>(std::bit_width((matches[last].begin - begin) / 16)),
                          longest.all()};
        if (of > best_merit) {
            best_merit = of;
            best = {matches[first].begin, matches[last].end};
        }
    }
    return best;
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

std::uint32_t weight_in_passages(std::uint64_t documents, std::uint64_t holders) {
    if (holders == 0 || holders >= documents) return 1;
    const double rarity = canonical_log(static_cast<double>(documents) / static_cast<double>(holders));
    return 1 + static_cast<std::uint32_t>(std::nearbyint(4 * rarity));
}

void snippet_finder::look_through(const text::token_list& words, std::size_t begin) {
    const auto before = static_cast<std::uint32_t>(begin);
    for (const match& m : find_matches(words, sought_))
        matches_.push_back({m.what, before + m.begin, before + m.end});
}

std::string snippet_finder::passage(std::string_view text, std::size_t max_bytes) const {
    const match_range core = best_match_range(matches_, sought_.weights, max_bytes);
    // The remaining length goes before and after the matches, a third and two thirds.
    const std::size_t spare = max_bytes > core.end - core.begin ? max_bytes - (core.end - core.begin) : 0;
    std::size_t begin = core.begin > spare / 3 ? back_to_word(text, core.begin - spare / 3) : 0;
    std::size_t end = begin + max_bytes;
    if (end < core.end) end = core.end;
    end = end >= text.size() ? text.size() : std::max<std::size_t>(core.end, back_to_word_end(text, end));
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
