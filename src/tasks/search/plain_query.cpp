// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/plain_query.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/search/phrases.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/ngram_terms.hpp"

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
    rest.filter = defaults.filter;
    rest.order_weights = defaults.order_weights;
    if (options.ngrams == order_model::interpolated) rest.order = defaults.order;
    return rest == defaults && (!options.snippets || options.count) && !(options.fields && store.fields()) &&
           !(options.duplicates && store.duplicates().size() != 0) && !store.info().verbatim &&
           store.info().listed == word_listing::none && options.k != 0 &&
           search_detail::can_be_kept(options.ranking.model);
}

plain_kind plain_kind_of(std::string_view query, query_syntax syntax) {
    if (syntax == query_syntax::words) {
        // Without the marks of quote_mark_at.
        const bool quotes = std::ranges::any_of(query, [](char c) { return c == '"' || c == '\xE2'; });
        return quotes ? plain_kind::other : plain_kind::words;
    }
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto is_plain = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == ' '; };
    if (query.size() > 2 && query.front() == '"' && query.back() == '"')
        return std::ranges::all_of(query.substr(1, query.size() - 2), is_plain) ? plain_kind::phrase
                                                                                : plain_kind::other;
    plain_kind kind = plain_kind::words;
    for (std::size_t i = 0; i < query.size(); ++i) {
        const char c = query[i];
        if (is_plain(c)) continue;
        const bool begins = i == 0 || query[i - 1] == ' ';
        if ((c != '+' && c != '-') || !begins || i + 1 == query.size() || !is_letter(query[i + 1]))
            return plain_kind::other;
        kind = plain_kind::signs;
    }
    return kind;
}

namespace {

struct plain_word {
    std::string_view word;
    bool required = false, excluded = false;
};
using plain_words = std::array<plain_word, max_plain_words>;
using known_list = known_words::known_word;

/// Whether a word stands between blanks in the query, or after a sign; `sign`: the character before it.
bool stands_alone(std::string_view query, const text::token& token, char& sign) {
    sign = token.source_begin == 0 ? ' ' : query[token.source_begin - 1];
    const char after = token.source_end == query.size() ? ' ' : query[token.source_end];
    return (sign == ' ' || sign == '+' || sign == '-') && after == ' ';
}

/// The words of a query, sorted; false if they are too many, or not what was typed between blanks.
bool take_words(std::string_view query, plain_kind kind, const text::token_list& tokens, plain_words& words) {
    if (tokens.tokens.empty() || tokens.tokens.size() > words.size()) return false;
    std::size_t size = 0;
    bool only_excluded = true;
    for (const text::token& token : tokens.tokens) {
        words[size] = {tokens.word(token)};
        if (kind == plain_kind::signs) {
            char sign = ' ';
            if (!stands_alone(query, token, sign)) return false;
            words[size].required = sign == '+';
            words[size].excluded = sign == '-';
        }
        only_excluded = only_excluded && words[size].excluded;
        ++size;
    }
    std::ranges::sort(std::span(words).first(size), {}, &plain_word::word);
    return !only_excluded;
}

/// What a word of the query, perhaps with several occurrences, requires; false if it is both searched and excluded.
bool merge(std::span<const plain_word> occurrences, search_detail::kept_term& term) {
    term.count = static_cast<std::uint32_t>(occurrences.size());
    term.required = std::ranges::any_of(occurrences, &plain_word::required);
    term.excluded = occurrences.front().excluded;
    return std::ranges::all_of(occurrences,
                               [&](const plain_word& word) { return word.excluded == term.excluded; });
}

/// Adds the n-grams of the words in their order; false if a list is not kept.
bool add_ngrams(const text::token_list& tokens, known_words& known,
                std::vector<search_detail::kept_term>& terms) {
    std::vector<std::optional<known_list*>> words;
    words.reserve(tokens.tokens.size());
    for (const text::token& token : tokens.tokens) {
        known_list* const word = known.find(tokens.word(token));
        if (word == nullptr) return false;
        const bool in_order = !word->unknown() && word->id();  // not only in titles of near-duplicates
        words.push_back(in_order ? std::optional(word) : std::nullopt);
    }
    bool all_kept = true;
    std::vector<const known_list*> found;  // of `terms` from `first` on
    const std::size_t first = terms.size();
    each_ngram<known_list*>(words, known.order(), [&](std::span<known_list* const> ngram) {
        known_list* const of = all_kept ? known.find_ngram(ngram) : nullptr;
        all_kept = of != nullptr;
        if (!all_kept || of->unknown()) return;
        if (const auto at = std::ranges::find(found, of); at != found.end()) {
            ++terms[first + static_cast<std::size_t>(at - found.begin())].count;
            return;
        }
        const search_detail::kept_list* const list = known.list_of(*of);
        all_kept = list != nullptr;
        found.push_back(of);
        terms.push_back({list});
    });
    return all_kept;
}

/// The words of a phrase in order; nothing if one is not known, or not what was typed between blanks.
std::vector<known_list*> known_phrase(std::string_view phrase, const text::token_list& tokens,
                                      known_words& known) {
    const auto typed = static_cast<std::size_t>(std::ranges::count_if(tokens.tokens, [&](const auto& token) {
        char sign = ' ';
        return stands_alone(phrase, token, sign) && sign == ' ';
    }));
    std::size_t begun = 0;
    for (std::size_t i = 0; i < phrase.size(); ++i)
        begun += phrase[i] != ' ' && (i == 0 || phrase[i - 1] == ' ') ? 1 : 0;
    if (typed != tokens.tokens.size() || typed != begun || typed < 2 || typed > max_plain_words) return {};
    std::vector<known_list*> words;
    words.reserve(typed);
    for (const text::token& token : tokens.tokens) {
        known_list* const word = known.find(tokens.word(token));
        if (word == nullptr || !word->id()) return {};
        words.push_back(word);
    }
    return words;
}

/// The documents with a phrase: by kept lists, if its words have them.
std::vector<search_detail::phrase_posting> find_known_phrase(const opened_store& store, known_words& known,
                                                             std::span<known_list* const> words,
                                                             const context& ctx) {
    std::vector<search_detail::kept_phrase_word> kept;
    kept.reserve(words.size());
    for (known_list* const word : words)
        if (const auto* const list = known.list_of(*word))
            kept.push_back({*word->id(), list, word->postings().collection_frequency});
    const search_detail::token_stream tokens = store.tokens();
    if (kept.size() == words.size()) {
        const auto& anchor = search_detail::rarest_within(kept);
        const auto at = static_cast<std::size_t>(&anchor - kept.data());
        const auto* const places = known.places_of(*words[at], tokens, ctx);
        const std::uint32_t of_places = anchor.word;
        for (auto& word : kept)
            if (word.word == of_places) word.places = places;
        // Without places, frequencies tell where to stop reading a document, which dense lists do not have.
        if (places != nullptr ||
            search_detail::leading_word(kept).list->form != search_detail::kept_form::dense)
            return search_detail::find_phrase(tokens, kept);
    }
    std::vector<search_detail::phrase_word> phrase;
    phrase.reserve(words.size());
    for (const known_list* word : words) phrase.push_back({*word->id(), word->postings()});
    return search_detail::find_phrase(store.collection(), tokens, phrase);
}

}  // namespace

search_result search_engine::state::plain_hits(std::span<const scored_document> ranking,
                                               const search_options& options) const {
    search_result result;
    result.opened = shared_from_this();
    const auto shown = ranking.subspan(std::min(options.offset, ranking.size()));
    for (const scored_document& of : shown) store.prefetch(of.document);
    result.hits.reserve(shown.size());
    for (std::size_t i = 0; i < shown.size(); ++i)
        result.hits.push_back(hit(shown[i], static_cast<std::uint32_t>(options.offset + i + 1)));
    return result;
}

std::optional<search_result> search_engine::state::plain_phrase(std::string_view query,
                                                                const search_options& options,
                                                                const prepared& lists,
                                                                const context& ctx) const {
    if (options.ranking.title_weight != 0) return {};
    const std::string_view phrase = query.substr(1, query.size() - 2);
    text::token_list& tokens = token_lists.local();
    words_of(phrase, tokens);
    const auto words = known_phrase(phrase, tokens, *lists.known);
    if (words.empty()) return {};
    const auto found = find_known_phrase(store, *lists.known, words, ctx);
    const auto ranking = search_detail::rank_phrase(store.collection(), found, options.ranking,
                                                    options.count ? 0 : options.k, lists.passing());
    search_result result = plain_hits(ranking, options);
    if (options.total || options.count)
        result.total = static_cast<std::uint64_t>(std::ranges::count_if(
            found, [&](const auto& of) { return !lists.filter || lists.filter->contains(of.document); }));
    if (found.empty()) {
        query_part part;
        part.quoted = true;
        for (const known_list* word : words) part.words.emplace_back(word->word());
        result.unknown_words.push_back(part.name());
    }
    result.syntax = options.syntax == query_syntax::operators ? query_syntax::operators : query_syntax::words;
    return result;
}

std::optional<search_result> search_engine::state::plain_result(std::string_view query,
                                                                const search_options& options,
                                                                const prepared& lists,
                                                                const context& ctx) const {
    if (!lists.known) return {};
    const query_syntax syntax = options.phrases ? options.syntax : query_syntax::words;
    if (options.order <= 1 && !finds_all(query, options) &&
        plain_kind_of(query, syntax) == plain_kind::phrase)
        return plain_phrase(query, options, lists, ctx);
    auto found = rank_plain(query, options, lists, ctx);
    if (!found) return {};
    search_result result = plain_hits(found->ranking, options);
    result.unknown_words = std::move(found->unknown);
    result.total = found->total;
    result.syntax = found->syntax;
    return result;
}

std::optional<search_engine::state::plain_ranking> search_engine::state::rank_plain(
    std::string_view query, const search_options& options, const prepared& lists, const context& ctx) const {
    const query_syntax syntax = options.phrases ? options.syntax : query_syntax::words;
    const plain_kind kind = plain_kind_of(query, syntax);
    if (kind == plain_kind::other || kind == plain_kind::phrase || finds_all(query, options)) return {};
    if (options.order > 1 && kind != plain_kind::words) return {};
    // The lists of near-duplicates' titles have documents without the word.
    if (kind == plain_kind::signs && options.ranking.title_weight != 0 && store.duplicates().size() != 0)
        return {};
    text::token_list& tokens = token_lists.local();
    words_of(query, tokens);
    plain_words words;
    if (!take_words(query, kind, tokens, words)) return {};
    const std::size_t size = tokens.tokens.size();
    std::array<search_detail::kept_term, max_plain_words> terms;
    std::size_t term_count = 0;
    std::vector<std::string> unknown;
    for (std::size_t i = 0, next; i < size; i = next) {
        for (next = i; next < size && words[next].word == words[i].word;) ++next;
        search_detail::kept_term term;
        known_list* const word = lists.known->find(words[i].word);
        if (word == nullptr || !merge(std::span(words).subspan(i, next - i), term)) return {};
        if (word->unknown() && !term.excluded) {
            if (options.suggestions != 0 || term.required) return {};
            unknown.emplace_back(words[i].word);
        }
        if (word->unknown()) continue;
        term.list = lists.known->list_of(*word);
        if (term.list == nullptr) return {};
        terms[term_count++] = term;
    }
    std::vector<search_detail::kept_term> with_ngrams;
    std::span<const search_detail::kept_term> all(terms.data(), term_count);
    if (options.order > 1) {
        with_ngrams.assign(all.begin(), all.end());
        if (!add_ngrams(tokens, *lists.known, with_ngrams)) return {};
        all = with_ngrams;
    }
    std::uint64_t total = 0;
    const bool counts = options.total || options.count;
    plain_ranking found;
    const std::size_t k = options.count ? 0 : options.k;
    if (const auto passing = lists.of_passing ? lists.of_passing->of(all) : std::nullopt) {
        const search_detail::numbered_documents& documents = lists.of_passing->documents();
        found.ranking =
            search_detail::rank_kept(*passing, documents.size(), k, counts ? &total : nullptr, &ctx);
        for (scored_document& of : found.ranking) of.document = documents.document(of.document);
    } else {
        found.ranking = search_detail::rank_kept(all, store.info().documents, k, counts ? &total : nullptr,
                                                 &ctx, lists.passing());
    }
    found.unknown = std::move(unknown);
    if (counts) found.total = total;
    const bool signs = syntax == query_syntax::operators || kind == plain_kind::signs;
    found.syntax = signs ? query_syntax::operators : query_syntax::words;
    return found;
}

}  // namespace quern
