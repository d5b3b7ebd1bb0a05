// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/plain_query.hpp"

#include <algorithm>
#include <array>

#include "tasks/search/engine_state.hpp"

namespace quern {
namespace {

constexpr std::size_t max_plain_words = 64;

}  // namespace

bool finds_plain_words(const opened_store& store, const search_options& options) {
    // Everything that may differ from the defaults; any other option needs a plan.
    search_options rest = options;
    const search_options defaults;
    rest.ranking = defaults.ranking;
    rest.k = defaults.k;
    rest.offset = defaults.offset;
    rest.phrases = defaults.phrases;
    rest.text = defaults.text;
    rest.suggestions = defaults.suggestions;  // only for words that are not known
    rest.duplicates = defaults.duplicates;
    rest.fields = defaults.fields;
    rest.snippets = defaults.snippets;
    rest.syntax = defaults.syntax;
    rest.total = defaults.total;
    rest.count = defaults.count;
    return rest == defaults && (!options.snippets || options.count) && !(options.fields && store.fields()) &&
           !(options.duplicates && store.duplicates().size() != 0) && !store.info().verbatim &&
           options.k != 0 && search_detail::can_be_kept(options.ranking.model);
}

plain_kind plain_kind_of(std::string_view query, query_syntax syntax) {
    if (syntax == query_syntax::words) {
        // Without the marks of quote_mark_at.
        const bool quotes = std::ranges::any_of(query, [](char c) { return c == '"' || c == '\xE2'; });
        return quotes ? plain_kind::other : plain_kind::words;
    }
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    plain_kind kind = plain_kind::words;
    for (std::size_t i = 0; i < query.size(); ++i) {
        const char c = query[i];
        if (is_letter(c) || (c >= '0' && c <= '9') || c == ' ') continue;
        const bool begins = i == 0 || query[i - 1] == ' ';
        if (c != '+' || !begins || i + 1 == query.size() || !is_letter(query[i + 1]))
            return plain_kind::other;
        kind = plain_kind::required;
    }
    return kind;
}

namespace {

struct plain_word {
    std::string_view word;
    bool required = false;
};

/// The words of a query; false if they are too many, or not what was typed between blanks.
bool take_words(std::string_view query, plain_kind kind, const text::token_list& tokens,
                std::array<plain_word, max_plain_words>& words) {
    if (tokens.tokens.empty() || tokens.tokens.size() > words.size()) return false;
    std::size_t size = 0;
    for (const text::token& token : tokens.tokens) {
        words[size] = {tokens.word(token)};
        if (kind == plain_kind::required) {
            const char before = token.source_begin == 0 ? ' ' : query[token.source_begin - 1];
            const char after = token.source_end == query.size() ? ' ' : query[token.source_end];
            if ((before != ' ' && before != '+') || after != ' ') return false;
            words[size].required = before == '+';
        }
        ++size;
    }
    std::ranges::sort(std::span(words).first(size), {}, &plain_word::word);
    return true;
}

}  // namespace

std::optional<search_result> search_engine::state::plain_result(std::string_view query,
                                                                const search_options& options,
                                                                const prepared& lists,
                                                                const context& ctx) const {
    if (!lists.known) return {};
    const query_syntax syntax = options.phrases ? options.syntax : query_syntax::words;
    const plain_kind kind = plain_kind_of(query, syntax);
    if (kind == plain_kind::other || finds_all(query, options)) return {};
    // The lists of near-duplicates' titles have documents without the word.
    if (kind == plain_kind::required && options.ranking.title_weight != 0 && store.duplicates().size() != 0)
        return {};
    text::token_list& tokens = token_lists.local();
    words_of(query, tokens);
    std::array<plain_word, max_plain_words> words;
    if (!take_words(query, kind, tokens, words)) return {};
    const std::size_t size = tokens.tokens.size();
    std::array<search_detail::kept_term, max_plain_words> terms;
    std::size_t term_count = 0;
    search_result result;
    for (std::size_t i = 0, next; i < size; i = next) {
        bool required = false;
        for (next = i; next < size && words[next].word == words[i].word; ++next)
            required = required || words[next].required;
        known_words::known_word* const word = lists.known->find(words[i].word);
        if (word == nullptr || (word->unknown() && (options.suggestions != 0 || required))) return {};
        if (word->unknown()) {
            result.unknown_words.emplace_back(words[i].word);
            continue;
        }
        const search_detail::kept_list* const list = lists.known->list_of(*word);
        if (list == nullptr) return {};
        terms[term_count++] = {list, static_cast<std::uint32_t>(next - i), required};
    }
    std::uint64_t total = 0;
    const bool counts = options.total || options.count;
    const auto ranking =
        search_detail::rank_kept(std::span(terms).first(term_count), store.info().documents,
                                 options.count ? 0 : options.k, counts ? &total : nullptr, &ctx);
    if (counts) result.total = total;
    const bool signs = syntax == query_syntax::operators || kind == plain_kind::required;
    result.syntax = signs ? query_syntax::operators : query_syntax::words;
    result.opened = shared_from_this();
    const std::size_t shown = ranking.size() - std::min(options.offset, ranking.size());
    result.hits.reserve(shown);
    for (std::size_t i = options.offset; i < ranking.size(); ++i)
        result.hits.push_back(hit(ranking[i], static_cast<std::uint32_t>(i + 1)));
    return result;
}

}  // namespace quern
