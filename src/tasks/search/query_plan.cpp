// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/query_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "ops/search/field_scoring.hpp"
#include "ops/search/passage.hpp"
#include "ops/search/search_impl.hpp"
#include "tasks/search/folded_words.hpp"

namespace quern {
namespace {

using search_detail::phrase_posting;
using search_detail::phrase_word;

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

}  // namespace

std::vector<std::string> discriminative_words(const opened_store& store, const whole_statistics* whole,
                                              const std::vector<std::string>& words) {
    const std::uint64_t documents = whole != nullptr ? whole->collection().documents : store.info().documents;
    const auto holders_of = [&](const std::string& word) -> std::uint64_t {
        if (whole != nullptr) return whole->of_word(word).documents;
        return store.words().find(word).document_frequency;
    };
    bool rarer = false;
    std::vector<std::string> discriminative;
    for (const std::string& word : words) {
        const std::uint64_t holders = holders_of(word);
        if (search_detail::is_common(documents, holders)) continue;
        rarer = rarer || holders != 0;
        discriminative.push_back(word);
    }
    return rarer ? discriminative : words;
}

query_plan::query_plan(const opened_store& store, const whole_statistics* whole, const word_space* thesaurus,
                       analysed_query query, const search_options& options, std::uint64_t memory,
                       const context& ctx, const words_of_text& words_of, const folded_words* folded,
                       std::span<const folded_words* const> all_folded, const near_finders& near,
                       const field_ranking* fields, bool by_terms)
    : store_(store),
      whole_(whole),
      ctx_(ctx),
      query_(std::move(query)),
      fields_(fields),
      words_of_text_(words_of),
      with_titles_(fields != nullptr || options.ranking.title_weight != 0),
      has_other_titles_(store.duplicates().size() != 0),
      typos_(options.typos),
      folded_(folded),
      all_folded_(all_folded),
      near_(near),
      collection_(store.collection()) {
    if (whole_ != nullptr) collection_.whole = whole_->collection();
    const bool has_made_parts = !std::ranges::all_of(query_.parts, &query_part::is_loose);
    const bool has_pairs = options.dependence != dependence_model::none;
    if (std::ranges::any_of(query_.parts, &query_part::is_phrase)) require_word_order(store, "phrases");
    if (has_pairs) require_word_order(store, "pairs of words");
    if (options.order > 1) require_word_order(store, "orders above 1");
    if (has_made_parts || has_pairs || options.order > 1) tokens_ = ended_by(ctx, store.tokens());
    if (store.info().listed == word_listing::weights) {
        add_weighted_words();
    } else {
        add_words();
    }
    if (has_made_parts) add_made_parts(finder());
    first_found_ = terms_.size();
    add_variants(finder());
    if (has_pairs) add_pairs(options);
    if (options.order > 1 && options.ngrams == order_model::interpolated) add_ngrams(options);
    if (options.expand != 0) add_similar(*thesaurus, options);
    const bool has_histories = options.order > 1 && options.ngrams == order_model::history;
    if (has_histories) add_histories(options.order, memory);
    if (whole_ == nullptr) finish(bounds(options.ranking), options, by_terms);
}

void query_plan::finish(std::span<const search_detail::shard_bounds> bounds, const search_options& options,
                        bool by_terms) {
    weigh_variants(bounds);
    if (!options.count) show_variants();
    for (const auto& [key, made] : made_) {
        if (made.term && terms_[*made.term].list.scored_documents() == 0)
            unknown_.push_back(names_[*made.term]);
    }
    if (options.snippets && !options.count) add_shown();
    const bool has_histories = options.order > 1 && options.ngrams == order_model::history;
    plan_restriction(by_terms && !has_histories && !options.like && fields_ == nullptr);
    if (!options.count || options.like || !by_terms) restrict();
    sort_once(unknown_words_);
    unknown_.insert(unknown_.end(), unknown_words_.begin(), unknown_words_.end());
    sort_once(unknown_);
}

std::vector<whole_counts> query_plan::counts() const {
    std::vector<whole_counts> counts;
    counts.reserve(terms_.size());
    for (const query_term& term : terms_)
        counts.push_back({term.list.document_frequency, term.list.collection_frequency});
    return counts;
}

void query_plan::set_whole_counts(std::span<const whole_counts> counts) {
    for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i].list.whole = counts[i];
    set_counts_of_variants();
    for (std::size_t i = terms_.size(); i > first_found_; --i) {
        if (terms_[i - 1].list.scored_documents() != 0) continue;
        terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(i - 1));
        names_.erase(names_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    std::size_t term = first_found_;
    for (const variant_request& request : scored_variants_)
        for (made_tier& tier : variants_.at(request)) tier.term = term++;
}

bool query_plan::is_known(const std::string& word) const {
    if (whole_ != nullptr) return whole_->of_word(word).documents != 0;
    return store_.words().dictionary().find(word).has_value();
}

part_finder query_plan::finder() const {
    static const search_detail::token_stream no_tokens;
    return {store_, tokens_ ? *tokens_ : no_tokens, words_of_text_, folded_, fields_ != nullptr, ctx_};
}

posting_list query_plan::list_of_term(const posting_list& list, const posting_list& titles,
                                      std::string_view word) {
    if (fields_ == nullptr || !finder().lacks_titles(titles)) return list;
    return lists_
        .emplace_back(search_detail::list_of(finder().in_any_field(store_.words().find(word), titles, word),
                                             collection_.document_lengths))
        .view();
}

std::span<const posting_list> query_plan::fields_of_term(std::string_view word) {
    if (!in_fields()) return {};
    auto& lists = lists_of_fields_.emplace_back();
    for (const word_index& field : store_.field_words()) lists.push_back(field.find(word));
    return lists;
}

std::span<const posting_list> query_plan::fields_of_term(
    const std::vector<std::vector<phrase_posting>>& found) {
    if (!in_fields() || found.empty()) return {};
    auto& lists = lists_of_fields_.emplace_back();
    for (const auto& of : found)
        lists.push_back(lists_.emplace_back(search_detail::list_of(of, collection_.document_lengths)).view());
    return lists;
}

search_query query_plan::view() const {
    search_query query{terms_, continuations_};
    if (allowed_) query.allowed = *allowed_;
    query.forbidden = forbidden_;
    query.ctx = &ctx_;
    return query;
}

std::uint64_t query_plan::bytes_made() const {
    std::uint64_t numbers = (allowed_ ? allowed_->capacity() : 0) + forbidden_.capacity();
    for (const auto& documents : documents_) numbers += documents.capacity();
    std::uint64_t bytes = numbers * sizeof(std::uint32_t);
    for (const auto& list : lists_) bytes += list.bytes.capacity();
    return bytes;
}

void query_plan::add_words() {
    std::vector<std::string_view> words;
    for (const query_part& part : query_.parts) {
        if (part.excluded) continue;
        empty_ = false;
        if (part.is_loose()) words.insert(words.end(), part.words.begin(), part.words.end());
    }
    std::ranges::sort(words);
    for (std::size_t i = 0, next; i < words.size(); i = next) {
        for (next = i; next < words.size() && words[next] == words[i];) ++next;
        const posting_list titles = store_.title_words().find(words[i]);
        const auto id = store_.words().dictionary().find(words[i]);
        // A word that occurs only in titles of near-duplicates belongs to their kept documents.
        posting_list list = id ? store_.words().postings(*id) : titles;
        if (whole_ != nullptr) list.whole = whole_->of_word(words[i]);
        if (!id && list.scored_documents() == 0) {
            unknown_words_.emplace_back(words[i]);
            continue;
        }
        terms_.push_back({.list = list_of_term(list, titles, words[i]),
                          .count = static_cast<std::uint32_t>(next - i),
                          .titles = titles,
                          .fields = fields_of_term(words[i])});
        names_.emplace_back(words[i]);
        words_.emplace_back(words[i]);
    }
}

void query_plan::add_weighted_words() {
    // Below these no product, and no sum of products, exceeds 64 bits.
    constexpr double max_product = 1 << 17, max_sum = 1 << 30;
    const float max_weight = whole_ != nullptr ? whole_->max_weight() : store_.info().max_weight;
    std::map<std::string_view, double> weights;
    for (const query_part& part : query_.parts) {
        empty_ = false;
        weights[part.words.front()] += part.weight;
    }
    double sum = 0;
    for (const auto& [word, weight] : weights) {
        if (weight == 0) continue;
        const double product = weight * static_cast<double>(max_weight);
        sum += product;
        if (product > max_product || sum > max_sum)
            throw usage_error(fmt::format(
                "the weights of the query are too large: with the largest of the store, {}, that of '{}' "
                "makes {} (expected at most {}, and {} for all words together)",
                max_weight, word, std::max(product, sum), max_product, max_sum));
        posting_list list = store_.words().find(word);
        if (whole_ != nullptr) list.whole = whole_->of_word(word);
        if (list.scored_documents() == 0) {
            unknown_words_.emplace_back(word);
            continue;
        }
        list.unit = std::ldexp(weight, store_.info().weight_exponent);
        terms_.push_back({.list = list});
        names_.emplace_back(word);
        words_.emplace_back(word);
    }
}

void query_plan::add_made_parts(const part_finder& finder) {
    struct counted_part {
        const query_part* part;
        std::uint32_t count;
    };
    std::map<part_key, counted_part> parts;
    for (const query_part& part : query_.parts) {
        if (part.is_loose()) continue;
        const part_key key(part.prefix, part.field, part.slop, part.words);
        auto& [_, count] = parts.try_emplace(key, counted_part{&part, 0}).first->second;
        if (!part.excluded) ++count;
    }
    for (const auto& [key, of] : parts) {
        make_part(finder, *of.part, key);
        if (of.count == 0) continue;
        made_part& made = made_.at(key);
        const std::size_t known_unknown = unknown_words_.size();
        for (const std::string& word : of.part->words) {
            if (of.part->prefix || of.part->folded || is_known(word)) continue;
            if (of.part->field != query_field::title ||
                store_.title_words().find(word).document_frequency == 0)
                unknown_words_.push_back(word);
        }
        if (unknown_words_.size() != known_unknown) continue;
        if (of.part->is_phrase() && of.part->slop == 0 && !of.part->folded) {
            phrases_.push_back(of.part->words);
            terms_of_phrases_.push_back(terms_.size());
        }
        made.term = terms_.size();
        terms_.push_back(
            {.list = made.list, .count = of.count, .titles = made.titles, .fields = made.fields});
        names_.push_back(of.part->name());
    }
}

void query_plan::make_part(const part_finder& finder, const query_part& part, const part_key& key) {
    const part_documents found = finder.find(part, with_titles_, in_fields());
    const auto& list = lists_.emplace_back(search_detail::list_of(found.found, collection_.document_lengths));
    const auto& titles =
        lists_.emplace_back(search_detail::list_of(found.titles, collection_.document_lengths));
    made_.emplace(key, made_part{list.view(), titles.view(), fields_of_term(found.fields),
                                 keep_documents(found.found), std::nullopt});
}

std::span<const std::uint32_t> query_plan::keep_documents(const std::vector<phrase_posting>& found) {
    auto& documents = documents_.emplace_back();
    documents.reserve(found.size());
    for (const phrase_posting& posting : found) documents.push_back(posting.document);
    return documents;
}

void query_plan::add_similar(const word_space& thesaurus, const search_options& options) {
    std::map<std::string_view, std::uint32_t> planned;  // words outside of quotes
    std::vector<std::string_view> own;
    for (const query_part& part : query_.parts) {
        for (const std::string& word : part.words) {
            own.push_back(word);
            if (!part.quoted && !part.excluded && part.is_loose()) ++planned[word];
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
        const posting_list titles = store_.title_words().find(word);
        terms_.push_back({.list = list_of_term(store_.words().postings(*id), titles, word),
                          .titles = titles,
                          .weight = weight,
                          .fields = fields_of_term(word)});
        names_.push_back(word);
        similar_.push_back({word, of.by, static_cast<double>(weight) / weight_one});
    }
}

std::vector<std::string> query_plan::words_of(const query_part& part) const {
    if (part.prefix && !part.folded) return spelled(store_, words_beginning_with(store_, part.words.front()));
    if (part.prefix) return spelled(store_, folded_->beginning_with(part.words.front()));
    std::vector<std::string> all;
    for (const std::string& word : part.words)
        std::ranges::move(spelled(store_, folded_->like(word)), std::back_inserter(all));
    return all;
}

void query_plan::add_shown() {
    std::vector<std::string> discriminative;
    for (const query_part& part : query_.parts) {
        if (!part.excluded && !part.prefix)
            discriminative.insert(discriminative.end(), part.words.begin(), part.words.end());
    }
    sort_once(discriminative);
    discriminative = discriminative_words(store_, whole_, discriminative);

    const auto weight_of = [&](const posting_list& list) {
        return search_detail::weight_in_passages(collection_.scored_documents(), list.scored_documents());
    };
    std::map<std::string, std::uint32_t, std::less<>> words;
    for (std::size_t i = 0; i < words_.size(); ++i) {  // words come first, in order
        if (std::ranges::binary_search(discriminative, words_[i]))
            words.emplace(words_[i], weight_of(terms_[i].list));
    }
    for (const query_part& part : query_.parts) {
        if (part.excluded || part.is_loose()) continue;
        if (part.prefix || part.folded) {
            const auto& made = made_.at(part_key(part.prefix, part.field, part.slop, part.words));
            const posting_list& list = made.term ? terms_[*made.term].list : made.list;
            for (std::string& word : words_of(part)) words.emplace(std::move(word), weight_of(list));
        } else if (!part.is_phrase() || part.slop != 0) {
            for (const std::string& word : part.words) {
                posting_list list = store_.words().find(word);
                if (whole_ != nullptr) list.whole = whole_->of_word(word);
                if (list.scored_documents() != 0 && std::ranges::binary_search(discriminative, word))
                    words.emplace(word, weight_of(list));
            }
        }
    }
    for (const auto& [request, tiers] : variants_) {
        for (const made_tier& tier : tiers) {
            if (tier.weight == 0) continue;
            const std::uint64_t weight = std::uint64_t{weight_of(tier.list)} * tier.weight / weight_one;
            for (std::string& word : spelled(store_, tier.tier.words))
                words.emplace(std::move(word), static_cast<std::uint32_t>(1 + weight));
        }
    }
    for (std::size_t i = 0; i < similar_.size(); ++i) {
        const query_term& term = terms_[terms_.size() - similar_.size() + i];
        const std::uint64_t weight = std::uint64_t{weight_of(term.list)} * term.weight;
        words.emplace(similar_[i].word, static_cast<std::uint32_t>(1 + weight / weight_one));
    }
    for (const auto& [word, weight] : words) {
        shown_words_.emplace_back(word);
        shown_weights_.push_back(weight);
    }
    for (const std::size_t term : terms_of_phrases_) shown_weights_.push_back(weight_of(terms_[term].list));
}

void query_plan::add_histories(unsigned order, std::uint64_t memory) {
    histories_.emplace(collection_, *tokens_, order, memory);
    // Other parts are separate terms: the words after them begin a new history.
    std::vector<std::optional<phrase_word>> words;
    std::vector<query_term*> terms;
    const auto of_words = static_cast<std::ptrdiff_t>(words_.size());
    for (const query_part& part : query_.parts) {
        if (part.excluded || !part.is_loose()) {
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

}  // namespace quern
