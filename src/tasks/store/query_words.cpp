// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/query_words.hpp"

#include <algorithm>

#include "tasks/store/stop_words_file.hpp"

namespace quern {

query_words::query_words(const opened_store& store)
    : verbatim_(store.info().verbatim), analyzer_(with_stop_words_of(store.info().text, store.path())) {}

std::vector<std::string> query_words::words_of(std::string_view text) {
    text::token_list tokens;
    if (verbatim_) {
        text::analyzer::take_lines(lines_for_blanks(text), tokens);
    } else {
        analyzer_.analyze(text, tokens);
    }
    std::vector<std::string> words;
    words.reserve(tokens.tokens.size());
    for (const text::token& t : tokens.tokens) words.emplace_back(tokens.word(t));
    return words;
}

std::string lines_for_blanks(std::string_view text) {
    std::string lines(text);
    std::ranges::replace_if(
        lines, [](char c) { return c == ' ' || c == '\t'; }, '\n');
    return lines;
}

}  // namespace quern
