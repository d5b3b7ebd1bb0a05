// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/query_plan.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "ops/search/passage.hpp"
#include "ops/search/search_impl.hpp"

namespace quern {
namespace {

using search_detail::phrase_posting;
using search_detail::phrase_word;

bool is_phrase(const query_part& part) {
    return part.quoted && part.words.size() > 1;
}

std::string in_quotes(std::span<const std::string> words) {
    std::string text = "\"";
    for (const std::string& word : words) text.append(text.size() > 1 ? " " : "").append(word);
    return text + '"';
}

/// Whether the words follow each other in the list.
bool holds(const text::token_list& list, std::span<const std::string> words) {
    const auto same = [&](const text::token& token, const std::string& word) {
        return list.word(token) == word;
    };
    return std::search(list.tokens.begin(), list.tokens.end(), words.begin(), words.end(), same) !=
           list.tokens.end();
}

/// A stream that ends when the context is stopped: documents are scanned for phrases one by one.
search_detail::token_stream ended_by(const context& ctx, search_detail::token_stream stream) {
    return {stream.code, [&ctx, words_of = std::move(stream.words_of)](std::uint32_t document) {
                ctx.check_stop();
                return words_of(document);
            }};
}

void sort_once(std::vector<std::string>& words) {
    std::ranges::sort(words);
    words.erase(std::ranges::unique(words).begin(), words.end());
}

std::vector<std::uint32_t> common(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
    std::vector<std::uint32_t> both;
    std::ranges::set_intersection(a, b, std::back_inserter(both));
    return both;
}

}  // namespace

std::vector<std::string> discriminative_words(const opened_store& store,
                                              const std::vector<std::string>& words) {
    bool rarer = false;
    std::vector<std::string> discriminative;
    for (const std::string& word : words) {
        const auto id = store.words().dictionary().find(word);
        if (id &&
            search_detail::is_common(store.info().documents, store.words().postings(*id).document_frequency))
            continue;
        rarer = rarer || id;
        discriminative.push_back(word);
    }
    return rarer ? discriminative : words;
}

query_plan::query_plan(const opened_store& store, const word_space* thesaurus,
                       std::span<const query_part> parts, const search_options& options, std::uint64_t memory,
                       const context& ctx, const words_of_text& words_of)
    : store_(store), ctx_(ctx), collection_(store.collection()) {
    const bool has_phrases = std::ranges::any_of(parts, is_phrase);
    if (has_phrases || options.order > 1) tokens_ = ended_by(ctx, store.tokens());
    add_words(parts);
    if (has_phrases) add_phrases(parts, options, words_of);
    if (options.expand != 0) add_similar(*thesaurus, parts, options);
    if (options.order > 1) add_histories(parts, options.order, memory);
    if (options.snippets) add_shown(parts);
    sort_once(unknown_words_);
    unknown_.insert(unknown_.end(), unknown_words_.begin(), unknown_words_.end());
    sort_once(unknown_);
}

search_query query_plan::view() const {
    search_query query{terms_, continuations_};
    if (allowed_) query.allowed = *allowed_;
    query.ctx = &ctx_;
    return query;
}

std::uint64_t query_plan::bytes_made() const {
    std::uint64_t bytes = allowed_ ? allowed_->capacity() * sizeof(std::uint32_t) : 0;
    for (const auto& list : lists_) bytes += list.bytes.capacity();
    return bytes;
}

void query_plan::require(std::span<const std::uint32_t> documents) {
    if (allowed_) {
        allowed_ = common(*allowed_, documents);
    } else {
        allowed_.emplace(documents.begin(), documents.end());
    }
}

void query_plan::add_words(std::span<const query_part> parts) {
    struct queried_word {
        std::string_view word;
        bool required;
    };
    std::vector<queried_word> words;
    for (const query_part& part : parts) {
        empty_ = empty_ && part.words.empty();
        if (is_phrase(part)) continue;
        for (const std::string& word : part.words) words.push_back({word, part.quoted});
    }
    std::ranges::sort(words, {}, &queried_word::word);
    for (std::size_t i = 0, next; i < words.size(); i = next) {
        bool required = false;
        for (next = i; next < words.size() && words[next].word == words[i].word; ++next)
            required = required || words[next].required;
        const posting_list titles = store_.title_words().find(words[i].word);
        const auto id = store_.words().dictionary().find(words[i].word);
        if (!id && titles.document_frequency == 0) {
            unknown_words_.emplace_back(words[i].word);
            if (required) require({});
            continue;
        }
        // A word that occurs only in titles of near-duplicates belongs to their kept documents.
        const posting_list list = id ? store_.words().postings(*id) : titles;
        terms_.push_back({list, static_cast<std::uint32_t>(next - i), titles});
        names_.emplace_back(words[i].word);
        words_.emplace_back(words[i].word);
        if (required) require(search_detail::documents_of(list, collection_));
    }
}

void query_plan::add_phrases(std::span<const query_part> parts, const search_options& options,
                             const words_of_text& words_of) {
    std::map<std::vector<std::string>, std::uint32_t> phrases;
    for (const query_part& part : parts)
        if (is_phrase(part)) ++phrases[part.words];
    for (const auto& [words, count] : phrases)
        add_phrase(words, count, options.ranking.title_weight != 0, words_of);
}

void query_plan::add_phrase(const std::vector<std::string>& words, std::uint32_t count, bool with_titles,
                            const words_of_text& words_of) {
    std::vector<phrase_word> phrase;
    for (const std::string& word : words) {
        if (const auto id = store_.words().dictionary().find(word)) {
            phrase.push_back({*id, store_.words().postings(*id)});
        } else {
            unknown_words_.push_back(word);
        }
    }
    if (phrase.size() != words.size()) return require({});
    const auto found = search_detail::find_phrase(collection_, *tokens_, phrase);
    if (found.empty()) unknown_.push_back(in_quotes(words));
    std::vector<std::uint32_t> documents;
    documents.reserve(found.size());
    for (const phrase_posting& posting : found) documents.push_back(posting.document);
    require(documents);

    std::vector<phrase_posting> in_titles;
    if (with_titles) {
        for (const std::string& word : words)  // a title with the phrase has all of its words
            documents =
                common(documents, search_detail::documents_of(store_.title_words().find(word), collection_));
        text::token_list title;
        for (const std::uint32_t document : documents) {
            words_of(store_.title(document), title);
            if (holds(title, words)) in_titles.push_back({document, 1, 0});
        }
    }
    const auto& list = lists_.emplace_back(search_detail::list_of(found, collection_.document_lengths));
    const auto& titles = lists_.emplace_back(search_detail::list_of(in_titles, collection_.document_lengths));
    terms_.push_back({list.view(), count, titles.view()});
    names_.push_back(in_quotes(words));
    phrases_.push_back(words);
}

void query_plan::add_similar(const word_space& thesaurus, std::span<const query_part> parts,
                             const search_options& options) {
    std::map<std::string_view, std::uint32_t> planned;  // words outside of quotes
    std::vector<std::string_view> own;
    for (const query_part& part : parts) {
        for (const std::string& word : part.words) {
            own.push_back(word);
            if (!part.quoted) ++planned[word];
        }
    }
    std::ranges::sort(own);
    struct brought {
        std::uint64_t weight = 0;
        std::string by;
    };
    std::map<std::string, brought, std::less<>> found;
    const auto in_most = [&](std::string_view word) {
        const auto id = store_.words().dictionary().find(word);
        const std::uint64_t holders = id ? store_.words().postings(*id).document_frequency : 0;
        return 2 * holders > store_.info().documents;
    };
    for (const auto& [word, count] : planned) {
        const auto id = thesaurus.find(word);
        if (!id || in_most(word) || thesaurus.is_stop_word(*id)) continue;
        std::uint32_t taken = 0;
        for (const neighbour& near : thesaurus.similar({{*id}, {}}, thesaurus.params().top, ctx_)) {
            if (taken == options.expand) break;
            const std::string_view other = thesaurus.word(near.word);
            if (std::ranges::binary_search(own, other) || in_most(other) || thesaurus.is_stop_word(near.word))
                continue;
            ++taken;
            const double share = std::min(near.score, 1.0) * options.expand_weight * weight_one;
            const auto weight = share >= 0.5 ? static_cast<std::uint64_t>(std::nearbyint(share)) : 0;
            if (weight == 0) continue;
            brought& of = found.try_emplace(std::string(other)).first->second;
            of.weight += weight * count;
            of.by.append(of.by.empty() ? "" : " ").append(word);
        }
    }
    for (const auto& [word, of] : found) {
        const auto id = store_.words().dictionary().find(word);
        if (!id) continue;
        const auto weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(of.weight, weight_one));
        terms_.push_back({store_.words().postings(*id), 1, store_.title_words().find(word), 0, weight});
        names_.push_back(word);
        similar_.push_back({word, of.by, static_cast<double>(weight) / weight_one});
    }
}

void query_plan::add_shown(std::span<const query_part> parts) {
    std::vector<std::string> discriminative;
    for (const query_part& part : parts)
        discriminative.insert(discriminative.end(), part.words.begin(), part.words.end());
    sort_once(discriminative);
    discriminative = discriminative_words(store_, discriminative);

    const auto weight_of = [&](std::uint64_t holders) {
        return search_detail::weight_in_passages(collection_.document_lengths.size(), holders);
    };
    std::map<std::string_view, std::uint32_t> words;
    for (std::size_t i = 0; i < words_.size(); ++i) {  // words come first, in order
        if (std::ranges::binary_search(discriminative, words_[i]))
            words.emplace(words_[i], weight_of(terms_[i].list.document_frequency));
    }
    for (std::size_t i = 0; i < similar_.size(); ++i) {
        const query_term& term = terms_[terms_.size() - similar_.size() + i];
        const std::uint64_t weight = std::uint64_t{weight_of(term.list.document_frequency)} * term.weight;
        words.emplace(similar_[i].word, static_cast<std::uint32_t>(1 + weight / weight_one));
    }
    for (const auto& [word, weight] : words) {
        shown_words_.emplace_back(word);
        shown_weights_.push_back(weight);
    }
    for (std::size_t i = 0; i < phrases_.size(); ++i)
        shown_weights_.push_back(weight_of(terms_[words_.size() + i].list.document_frequency));
}

void query_plan::add_histories(std::span<const query_part> parts, unsigned order, std::uint64_t memory) {
    histories_.emplace(collection_, *tokens_, order, memory);
    // A phrase is a separate term: the words after it begin a new history.
    std::vector<std::optional<phrase_word>> words;
    std::vector<query_term*> terms;
    const auto of_words = static_cast<std::ptrdiff_t>(words_.size());
    for (const query_part& part : parts) {
        if (is_phrase(part)) {
            words.emplace_back();
            terms.push_back(nullptr);
            continue;
        }
        for (const std::string& word : part.words) {
            const auto id = store_.words().dictionary().find(word);
            // Words come first, in order.
            const auto at = std::lower_bound(names_.begin(), names_.begin() + of_words, word);
            words.push_back(id ? std::optional(phrase_word{*id, store_.words().postings(*id)})
                               : std::nullopt);
            terms.push_back(id ? &terms_[static_cast<std::size_t>(at - names_.begin())] : nullptr);
        }
    }
    for (std::size_t i = 0; i < words.size(); ++i)
        if (histories_->add(words, i)) ++terms[i]->continued;
    for (const auto& of : histories_->found()) continuations_.push_back(of.view());
}

std::vector<explained_term> query_plan::explain(const ranking_options& ranking,
                                                std::uint32_t document) const {
    // Skips the checked entry point, which reads all of a query's lists: the search has done that.
    const auto parts = search_detail::parts_of(collection_, view(), ranking, document);
    const auto scaled = [](std::int64_t fixed) { return static_cast<double>(fixed) * 0x1p-32; };
    std::vector<explained_term> explained;
    const auto add = [&](std::string name, std::uint32_t count, const score_parts& of) -> explained_term& {
        auto& made = explained.emplace_back();
        made.term = std::move(name);
        made.count = count;
        made.in_document = of.frequency;
        made.part = scaled(of.part);
        made.background = scaled(of.background);
        made.length = scaled(of.length);
        made.title = scaled(of.title);
        made.score = scaled(of.sum());
        return made;
    };
    for (std::size_t i = 0; i < terms_.size(); ++i) {
        const query_term& term = terms_[i];
        if (term.continued == term.count && parts[i].title == 0) continue;  // occurs only in its histories
        auto& made = add(names_[i], term.count - term.continued, parts[i]);
        made.documents = term.list.document_frequency;
        made.in_collection = term.list.collection_frequency;
        if (const std::size_t others = terms_.size() - similar_.size(); i >= others) {
            made.weight = similar_[i - others].weight;
            made.similar_to = similar_[i - others].similar_to;
        }
    }
    for (std::size_t i = 0; i < continuations_.size(); ++i) {
        const auto& found = histories_->found()[i];
        const auto word = [&](std::uint32_t id) { return store_.words().dictionary().word(id); };
        std::string name = word(found.words.back()) + " |";
        for (std::size_t w = 0; w + 1 < found.words.size(); ++w)
            name.append(" ").append(word(found.words[w]));
        auto& made = add(std::move(name), found.count, parts[terms_.size() + i]);
        made.documents = found.holders;
        made.in_collection = found.frequency;
        made.history_in_document = parts[terms_.size() + i].history;
        made.history_in_collection = found.history;
    }
    return explained;
}

}  // namespace quern
