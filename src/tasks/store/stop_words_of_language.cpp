// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/stop_words_of_language.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "quern/text/analyzer.hpp"
#include "text/stop_words.hpp"

namespace quern {
namespace {

constexpr std::string_view short_list = "lucene";  // also English

struct listed_words {
    std::vector<std::uint32_t> ids;  // sorted and distinct
    std::uint64_t occurrences = 0;
};

listed_words look_up(const counted_vocabulary& words, std::string_view list, text::analyzer& analyzer) {
    listed_words found;
    const auto add = [&](std::string_view word) {
        if (const auto id = words.find(word)) found.ids.push_back(*id);
    };
    text::token_list tokens;
    for (const std::string& word : text::read_stop_words(std::string(list))) {
        if (words.verbatim) {
            add(word);
            continue;
        }
        analyzer.analyze(word, tokens);
        if (tokens.tokens.size() == 1) add(tokens.word(tokens.tokens.front()));
    }
    std::ranges::sort(found.ids);
    found.ids.erase(std::ranges::unique(found.ids).begin(), found.ids.end());
    for (const std::uint32_t id : found.ids) found.occurrences += words.frequency(id);
    return found;
}

}  // namespace

std::vector<std::uint32_t> stop_words_in(const counted_vocabulary& words) {
    text::analyzer analyzer(words.text, std::span<const std::string>());
    const auto lists = text::builtin_stop_lists();
    const std::string language = words.text.language.substr(0, words.text.language.find_first_of("-_"));
    if (std::ranges::find(lists, language) != lists.end()) return look_up(words, language, analyzer).ids;

    std::vector<listed_words> found;
    std::uint64_t max = 0;
    for (const std::string_view list : lists) {
        if (list == short_list) continue;
        found.push_back(look_up(words, list, analyzer));
        max = std::max(max, found.back().occurrences);
    }
    std::vector<std::uint32_t> ids;
    for (const listed_words& of : found) {
        if (2 * of.occurrences < max || 20 * of.occurrences < words.occurrences) continue;
        ids.insert(ids.end(), of.ids.begin(), of.ids.end());
    }
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    return ids;
}

}  // namespace quern
