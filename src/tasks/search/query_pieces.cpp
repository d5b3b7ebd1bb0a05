// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/query_pieces.hpp"

#include <cstddef>

namespace quern {
namespace {

/// Of a word, as far as a byte tells: a letter or digit of ASCII, or part of a longer character.
bool is_of_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (static_cast<unsigned char>(c) & 0x80) != 0;
}

/// The next quote at or after `from` that is no part of a word.
std::size_t find_quote(std::string_view query, std::size_t from) {
    for (std::size_t at = query.find('"', from); at != std::string_view::npos; at = query.find('"', at + 1)) {
        const bool within =
            at > 0 && is_of_word(query[at - 1]) && at + 1 < query.size() && is_of_word(query[at + 1]);
        if (!within) return at;
    }
    return std::string_view::npos;
}

}  // namespace

std::vector<query_piece> split_at_quotes(std::string_view query) {
    std::vector<query_piece> pieces;
    const auto add = [&](std::size_t begin, std::size_t end, bool quoted) {
        if (begin < end) pieces.push_back({query.substr(begin, end - begin), quoted});
    };
    std::size_t begin = 0;
    for (std::size_t open = find_quote(query, 0); open != std::string_view::npos;
         open = find_quote(query, begin)) {
        const std::size_t close = find_quote(query, open + 1);
        if (close == std::string_view::npos) break;
        add(begin, open, false);
        add(open + 1, close, true);
        begin = close + 1;
    }
    add(begin, query.size(), false);
    return pieces;
}

}  // namespace quern
