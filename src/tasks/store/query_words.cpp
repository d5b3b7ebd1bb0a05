// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/query_words.hpp"

#include <algorithm>

namespace quern {

query_words::query_words(const opened_store& store)
    : verbatim_(store.info().verbatim), analyzer_(store.make_analyzer()) {}

std::vector<std::string> query_words::words_of(std::string_view text) {
    text::token_list tokens;
    if (verbatim_) {
        text::analyzer::take_lines(lines_of_query(text, between_words_of(text)), tokens);
    } else {
        analyzer_.analyze(text, tokens);
    }
    std::vector<std::string> words;
    words.reserve(tokens.tokens.size());
    for (const text::token& t : tokens.tokens) words.emplace_back(tokens.word(t));
    return words;
}

between_words between_words_of(std::string_view query) {
    return query.find('\t') == std::string_view::npos ? between_words::blanks : between_words::tabs;
}

std::string lines_of_query(std::string_view text, between_words separators) {
    std::string lines(text);
    std::ranges::replace_if(
        lines, [&](char c) { return c == '\t' || (c == ' ' && separators == between_words::blanks); }, '\n');
    return lines;
}

}  // namespace quern
