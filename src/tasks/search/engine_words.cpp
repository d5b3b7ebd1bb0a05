// SPDX-License-Identifier: Apache-2.0
// The words of texts and of queries by the rules of the build, and where they are in a text.
#include <algorithm>
#include <string>
#include <vector>

#include "tasks/search/engine_state.hpp"
#include "tasks/search/sharded.hpp"
#include "tasks/search/word_weights.hpp"

namespace quern {

/// The words of a text of the collection, by the rules of the build.
void search_engine::state::words_of(std::string_view text, text::token_list& words) const {
    if (store.info().verbatim) {
        text::analyzer::take_lines(text, words);
    } else {
        analyzers.local().analyze(text, words);
    }
}

void search_engine::state::query_words_of(std::string_view text, between_words separators,
                                          text::token_list& words) const {
    if (store.info().verbatim) {
        words_of(lines_of_query(text, separators), words);
    } else {
        words_of(text, words);
    }
}

std::optional<unfinished_word> search_engine::state::unfinished_word_of(std::string_view text,
                                                                        between_words separators) const {
    if (store.info().verbatim) {
        const std::size_t before = text.find_last_of(separators == between_words::tabs ? "\t\n" : " \t\n");
        const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
        if (begin == text.size()) return {};
        return unfinished_word{begin, std::string(text.substr(begin))};
    }
    text::token_list& words = token_lists.local();
    prefix_analyzers.local().analyze(text, words);
    if (words.tokens.empty() || words.tokens.back().source_end != text.size()) return {};
    const text::token& last = words.tokens.back();
    return unfinished_word{last.source_begin, std::string(words.word(last))};
}

analysed_query search_engine::state::analysed(std::string_view query, query_syntax syntax, bool phrases,
                                              bool unfinished) const {
    if (store.info().listed == word_listing::weights) return weighted_query(query);
    text::token_list tokens;
    const auto found = [&tokens] {
        std::vector<std::string> words;
        words.reserve(tokens.tokens.size());
        for (const text::token& t : tokens.tokens) words.emplace_back(tokens.word(t));
        return words;
    };
    const bool verbatim = store.info().verbatim;
    const between_words separators = between_words_of(query);
    query_analysis by;
    by.fields = store.info().indexed_fields;
    std::vector<std::string> kept;
    if (store.fields() && query.find(':') != std::string_view::npos)
        for (const field_column& column : store.fields()->columns()) kept.push_back(column.info().name);
    by.kept = kept;
    by.words_of = [&](std::string_view text) {
        query_words_of(text, separators, tokens);
        return found();
    };
    by.words_of_part = [&](std::string_view text, bool quoted) {
        query_words_of(text, quoted ? between_words::blanks : between_words::tabs, tokens);
        return found();
    };
    by.words_of_prefix = [&](std::string_view text) {
        if (verbatim) return std::vector<std::string>{std::string(text)};
        prefix_analyzers.local().analyze(text, tokens);
        return found();
    };
    if (unfinished)
        by.unfinished = [&](std::string_view text) { return unfinished_word_of(text, separators); };
    // A tab separates verbatim words, which may have any character.
    const bool only_words =
        verbatim && syntax == query_syntax::automatic && separators == between_words::tabs;
    return analyse(query, only_words ? query_syntax::words : syntax, phrases, by);
}

std::vector<text_match> search_engine::matches(std::string_view text, std::string_view query) const {
    return matches(text, words_of(query));
}

std::vector<text_match> search_engine::matches(std::string_view text,
                                               std::span<const std::string> words) const {
    text::token_list held;
    // Of a snippet, whose words are separated by blanks too.
    state_->query_words_of(text, between_words::blanks, held);
    std::vector<text_match> found;
    for (const text::token& t : held.tokens) {
        if (std::ranges::binary_search(words, held.word(t))) found.push_back({t.source_begin, t.source_end});
    }
    return found;
}

std::vector<std::string> search_engine::words_of(std::string_view query, query_syntax syntax) const {
    std::vector<std::string> words;
    if (syntax == query_syntax::words) {
        std::string unquoted(query);
        std::ranges::replace(unquoted, '"', ' ');
        text::token_list held;
        state_->query_words_of(unquoted, between_words::blanks, held);
        words.reserve(held.tokens.size());
        for (const text::token& t : held.tokens) words.emplace_back(held.word(t));
    } else {
        const auto read = [&] {
            try {
                return state_->analysed(query, syntax, true);
            } catch (const query_error&) {  // read with operators by the automatic syntax, which takes more
                return state_->analysed(query, query_syntax::automatic, true);
            }
        };
        for (const query_part& part : read().parts) {
            if (part.excluded) continue;
            if (!part.prefix) words.insert(words.end(), part.words.begin(), part.words.end());
            const auto add = [&](const state& of) {
                const auto own = spelled(of.store, words_beginning_with(of.store, part.words.front()));
                words.insert(words.end(), own.begin(), own.end());
            };
            if (part.prefix && sharded_ == nullptr) add(*state_);
            if (part.prefix && sharded_ != nullptr)
                for (const auto& shard : sharded_->shards)
                    if (shard != nullptr) add(*shard);
        }
    }
    std::ranges::sort(words);
    words.erase(std::ranges::unique(words).begin(), words.end());
    return words;
}

std::vector<std::string> search_engine::discriminative_words_of(std::string_view query, query_syntax syntax,
                                                                const context& ctx) const {
    const std::vector<std::string> words = words_of(query, syntax);
    if (!has_remote_shards()) return discriminative_words(state_->store, state_->statistics.get(), words);
    shard_exchange::request request;
    for (const std::string& word : words) request.vocabulary.words[word];
    const query_vocabulary vocabulary = sharded_->vocabulary_of(request, prepared(), ctx);
    const whole_statistics whole({store().documents, store().words}, vocabulary);
    return discriminative_words(state_->store, &whole, words);
}

std::optional<std::string> search_engine::corrected(std::string_view query,
                                                    std::span<const suggested_words> suggestions) const {
    struct change {
        text_match at;
        std::string_view word;
    };
    std::vector<change> changes;
    for (const suggested_words& of : suggestions)
        for (const text_match& at : matches(query, std::span(&of.unknown, 1)))
            changes.push_back({at, of.words.front().word});
    if (changes.empty()) return {};
    std::ranges::sort(changes, {}, [](const change& c) { return c.at.begin; });
    std::string text;
    std::size_t done = 0;
    for (const change& c : changes) {
        if (c.at.begin < done) continue;
        text.append(query.substr(done, c.at.begin - done)).append(c.word);
        done = c.at.end;
    }
    return text.append(query.substr(done));
}

}  // namespace quern
