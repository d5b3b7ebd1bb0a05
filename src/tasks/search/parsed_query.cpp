// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/parsed_query.hpp"

#include <cstddef>

#include "tasks/search/quote_marks.hpp"

namespace quern {
namespace {

/// Whether a word may begin with this byte: a letter or digit of ASCII, or of a script that separates words by blanks.
/// Excludes punctuation, symbols and scripts without blanks (U+2000 and above, U+0080 to U+00BF).
bool begins_in_a_word(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return (first >= '0' && first <= '9') || (first >= 'A' && first <= 'Z') ||
           (first >= 'a' && first <= 'z') || (byte >= 0xC3 && byte < 0xE2);
}

}  // namespace

bool word_at(std::string_view query, std::size_t at) {
    return at < query.size() && begins_in_a_word(query[at]);
}
bool word_before(std::string_view query, std::size_t at) {
    if (at == 0) return false;
    do --at;
    while (at > 0 && (static_cast<unsigned char>(query[at]) & 0xC0) == 0x80);
    return begins_in_a_word(query[at]);
}

std::size_t quote_mark_at(std::string_view query, std::size_t at) {
    constexpr std::string_view straight = "\"", marks[] = {straight, "\u201C", "\u201D", "\u201E"};
    for (const std::string_view mark : marks)
        if (query.substr(at).starts_with(mark)) return mark.size();
    return 0;
}

namespace {

struct quote {
    std::size_t begin = std::string_view::npos, end = std::string_view::npos;
    explicit operator bool() const { return end != std::string_view::npos; }
};

/// The next quotation mark at or after `from`, straight or typographic as on phones.
quote find_quote(std::string_view query, std::size_t from) {
    for (std::size_t at = from; at < query.size(); ++at)
        if (const std::size_t size = quote_mark_at(query, at)) return {at, at + size};
    return {};
}

// A mark after a word is an inch or belongs to the word (12", Hebrew's gershayim), so that no quote opens there;
// likewise none closes before a word.
quote find_opening(std::string_view query, std::size_t from) {
    quote mark = find_quote(query, from);
    while (mark && word_before(query, mark.begin)) mark = find_quote(query, mark.end);
    return mark;
}
quote find_closing(std::string_view query, std::size_t from) {
    quote mark = find_quote(query, from);
    while (mark && mark.begin != from && word_at(query, mark.end)) mark = find_quote(query, mark.end);
    return mark;
}

}  // namespace

std::vector<query_piece> split_at_quotes(std::string_view query) {
    std::vector<query_piece> pieces;
    const auto add = [&](std::size_t begin, std::size_t end, bool quoted) {
        if (begin < end) pieces.push_back({query.substr(begin, end - begin), quoted});
    };
    std::size_t begin = 0;
    for (quote open = find_opening(query, 0); open; open = find_opening(query, begin)) {
        const quote close = find_closing(query, open.end);
        if (!close) break;
        add(begin, open.begin, false);
        add(open.end, close.begin, true);
        begin = close.end;
    }
    add(begin, query.size(), false);
    return pieces;
}

}  // namespace quern
