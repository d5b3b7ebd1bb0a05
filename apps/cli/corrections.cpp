// SPDX-License-Identifier: Apache-2.0
#include "corrections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace quern::cli {
namespace {

/// `batle, zebra; did you mean battle for batle?`; the suggestions say for which word if there are several.
/// `all`: also those words that others stand for.
std::string unknown_in(const search_result& result, bool all) {
    const auto is_listed = [&](const std::string& word) {
        return all ||
               std::ranges::find(result.variants, word, &found_variants::word) == result.variants.end();
    };
    std::vector<std::string> listed;
    std::ranges::copy_if(result.unknown_words, std::back_inserter(listed), is_listed);
    std::string text;
    for (const suggested_words& of : result.suggestions) {
        if (!is_listed(of.unknown)) continue;
        text += text.empty() ? "; did you mean " : ", ";
        for (std::size_t i = 0; i < of.words.size(); ++i)
            text.append(i == 0 ? "" : i + 1 == of.words.size() ? " or " : ", ").append(of.words[i].word);
        if (listed.size() > 1) text.append(" for ").append(of.unknown);
    }
    return fmt::format("{}{}{}", fmt::join(listed, ", "), text, text.empty() ? "" : "?");
}

/// `; found by battle, bottle and 3 more`; if several words have variants, also for which one.
std::string variants_in(const search_result& result) {
    constexpr std::size_t shown = 3;
    std::string text;
    for (const found_variants& of : result.variants) {
        text += text.empty() ? "found by " : ", ";
        const std::size_t named = std::min(shown, of.words.size());
        for (std::size_t i = 0; i < named; ++i) text.append(i == 0 ? "" : ", ").append(of.words[i].word);
        if (named != of.words.size()) text += fmt::format(" and {} more", of.words.size() - named);
        text.append(" for ").append(of.word);
    }
    return text;
}

/// `'battel', 'hasting'`; phrases already have quotes.
std::string quoted(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        if (!text.empty()) text += ", ";
        text += word.starts_with('"') ? word : fmt::format("'{}'", word);
    }
    return text;
}

}  // namespace

corrected_result search_query_text(const search_engine& engine, const std::string& query,
                                   const search_options& options, bool correct, const context& ctx,
                                   console& messages) {
    corrected_result given{engine.search(query, options, ctx), query, {}};
    if (!given.result.syntax_note.empty())
        messages.info(fmt::format("read as words: {}", given.result.syntax_note));
    if (!correct || options.count || given.result.unknown_words.empty()) return given;
    auto corrected = engine.corrected(query, given.result.suggestions);
    if (!corrected) return given;
    search_result other = engine.search(*corrected, options, ctx);
    if (other.hits.empty()) return given;
    messages.result(fmt::format("no document contains {}; showing results for '{}'",
                                quoted(given.result.unknown_words), *corrected));
    given.result = std::move(other);
    given.query = *corrected;
    given.corrected = std::move(corrected);
    return given;
}

void tell(const corrected_result& given, console& messages) {
    if (given.corrected) return;
    const search_result& result = given.result;
    const std::string variants = result.hits.empty() ? "" : variants_in(result);
    if (!variants.empty()) messages.info(variants);
    const std::string unknown = unknown_in(result, variants.empty());
    if (result.total && *result.total != 0) {
        if (!unknown.empty()) messages.info(fmt::format("no document contains {}", unknown));
    } else if (result.empty_query && result.hits.empty()) {
        messages.error(fmt::format("nothing found: '{}' contains no word", given.query));
    } else if (result.hits.empty()) {
        messages.error(given.query.empty() ? "nothing found: no document matches the filter"
                       : unknown.empty()   ? fmt::format("nothing found for '{}'", given.query)
                                           : fmt::format("nothing found: no document contains {}", unknown));
    } else if (!unknown.empty()) {
        messages.info(fmt::format("no document contains {}", unknown));
    }
}

}  // namespace quern::cli
