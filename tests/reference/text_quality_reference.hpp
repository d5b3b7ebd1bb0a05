// SPDX-License-Identifier: Apache-2.0
// The measures of the quality rules, slowly: texts as code points, n-grams as lists of words in maps, patterns by
// std::regex. Words are those between white space.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.hpp"

namespace quern::reference {

using points = std::u32string;
using ratio = std::pair<std::uint64_t, std::uint64_t>;

inline points decoded(std::string_view text) {
    points all;
    for (std::size_t at = 0; at < text.size();) all += next_utf8(text, at);
    return all;
}

inline bool is_blank(char32_t c) {
    return std::u32string_view(
               U" \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
               U"\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000")
               .find(c) != std::u32string_view::npos;
}

inline std::vector<points> split(const points& text, bool (*at)(char32_t), bool keep_empty) {
    std::vector<points> parts(1);
    for (const char32_t c : text) {
        if (at(c)) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    if (!keep_empty) std::erase_if(parts, [](const points& p) { return p.empty(); });
    return parts;
}

inline std::vector<points> words(const points& text) {
    return split(text, is_blank, false);
}

inline points stripped(points text) {
    while (!text.empty() && is_blank(text.back())) text.pop_back();
    while (!text.empty() && is_blank(text.front())) text.erase(0, 1);
    return text;
}

inline bool ends_with(const points& text, std::u32string_view end) {
    return text.ends_with(end);
}

/// Lines as Python's str.splitlines.
inline std::vector<points> unicode_lines(points text) {
    for (std::size_t at = text.find(U"\r\n"); at != points::npos; at = text.find(U"\r\n"))
        text.replace(at, 2, U"\n");
    const auto is_end = [](char32_t c) {
        return std::u32string_view(U"\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029").find(c) !=
               std::u32string_view::npos;
    };
    auto lines = split(text, is_end, true);
    if (lines.back().empty()) lines.pop_back();
    return lines;
}

/// Parts between `least` line ends or more.
inline std::vector<points> between_line_ends(const points& text, std::size_t least) {
    std::vector<points> parts(1);
    for (std::size_t at = 0; at < text.size();) {
        std::size_t ends = 0;
        while (at + ends < text.size() && text[at + ends] == U'\n') ++ends;
        if (ends >= least) {
            parts.emplace_back();
        } else if (ends == 0) {
            parts.back() += text[at];
        } else {
            parts.back().append(ends, U'\n');
        }
        at += std::max<std::size_t>(ends, 1);
    }
    return parts;
}

/// Parts equal to an earlier one, and their characters.
inline ratio repeated(const std::vector<points>& parts) {
    std::set<points> seen;
    ratio found{0, 0};
    for (const points& part : parts) {
        if (seen.insert(part).second) continue;
        ++found.first;
        found.second += part.size();
    }
    return found;
}

inline std::vector<std::vector<points>> ngrams(const std::vector<points>& words, std::size_t n) {
    std::vector<std::vector<points>> all;
    for (std::size_t i = 0; i + n <= words.size(); ++i)
        all.emplace_back(words.begin() + i, words.begin() + i + n);
    return all;
}

inline std::uint64_t characters(const std::vector<points>& words) {
    std::uint64_t sum = 0;
    for (const points& word : words) sum += word.size();
    return sum;
}

inline std::uint64_t top_characters(const std::vector<points>& words, std::size_t n) {
    const auto all = ngrams(words, n);
    std::uint64_t best = 0, found = 0;
    for (const auto& ngram : all) {
        const auto count = static_cast<std::uint64_t>(std::ranges::count(all, ngram));
        if (count <= best) continue;
        best = count;
        found = (characters(ngram) + n - 1) * count;
    }
    return found;
}

inline std::uint64_t duplicate_characters(const std::vector<points>& words, std::size_t n) {
    std::set<std::vector<points>> seen;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i + n <= words.size();) {
        const std::vector<points> ngram(words.begin() + i, words.begin() + i + n);
        if (seen.insert(ngram).second) {
            ++i;
        } else {
            sum += characters(ngram);
            i += n;
        }
    }
    return sum;
}

inline std::uint64_t occurrences(const points& text, std::u32string_view part) {
    std::uint64_t count = 0;
    for (std::size_t at = 0; at + part.size() <= text.size();) {
        const bool is_here = std::u32string_view(text).substr(at).starts_with(part);
        count += is_here ? 1 : 0;
        at += is_here ? part.size() : 1;
    }
    return count;
}

/// datatrove's expressions for addresses. Bytes of more than one byte are none of a word here: ASCII texts only.
inline std::string masked(const std::string& text, const std::regex& pattern,
                          const std::vector<std::string>& by) {
    std::string out;
    std::size_t copied = 0, count = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
        out +=
            text.substr(copied, static_cast<std::size_t>(at->position()) - copied) + by[count++ % by.size()];
        copied = static_cast<std::size_t>(at->position() + at->length());
    }
    return out + text.substr(copied);
}

inline const std::string octet_expression = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)";
inline const std::string email_expression =
    "\\b[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/"
    "=?^_`{|}~-]+)*@(?:(?:[A-Za-z0-9](?:[A-Za-z0-9-]*"
    "[A-Za-z0-9])?\\.)+[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?|\\[(?:" +
    octet_expression + "\\.){3}(?:" + octet_expression + "|[A-Za-z0-9-]*[A-Za-z0-9]:)\\])";

}  // namespace quern::reference
