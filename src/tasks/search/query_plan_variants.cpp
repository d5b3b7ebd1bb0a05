// SPDX-License-Identifier: Apache-2.0
// Words that stand for a word of the query. Those that are equally near count as one word, as a prefix does, in the
// documents that have no nearer one: a document has at most one term of a word and its variants.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "ops/search/field_scoring.hpp"
#include "ops/search/part_bounds.hpp"
#include "ops/search/search_impl.hpp"
#include "tasks/search/folded_words.hpp"
#include "tasks/search/query_plan.hpp"
#include "text/folding.hpp"

namespace quern {
namespace {

using search_detail::phrase_posting;
using documents_of_tier = std::vector<std::uint32_t>;

/// Of a term by its distance in edits: a half for each, and for words that begin with the word.
std::uint32_t max_weight(std::uint32_t distance) {
    return weight_one >> std::max<std::uint32_t>(distance, 1);
}

void remove(std::vector<phrase_posting>& found, const documents_of_tier& nearer) {
    search_detail::ascending_set without(nearer);
    std::erase_if(found, [&](const phrase_posting& of) { return without.contains(of.document); });
}

void add_to(documents_of_tier& documents, const std::vector<phrase_posting>& found) {
    const auto before = static_cast<std::ptrdiff_t>(documents.size());
    for (const phrase_posting& of : found) documents.push_back(of.document);
    std::inplace_merge(documents.begin(), documents.begin() + before, documents.end());
    documents.erase(std::ranges::unique(documents).begin(), documents.end());
}

}  // namespace

void sort_variants(std::vector<suggested_words::known>& words) {
    std::ranges::sort(words, [](const auto& a, const auto& b) {
        if (a.distance != b.distance) return a.distance < b.distance;
        return a.documents != b.documents ? a.documents > b.documents : a.word < b.word;
    });
}

bool query_plan::any_has(const std::string& word) const {
    return whole_ != nullptr ? whole_->has(word) : has_word(store_, word);
}

bool query_plan::any_begins(const std::string& beginning) const {
    if (whole_ != nullptr) return whole_->begins(beginning, all_folded_);
    return !(folded_ == nullptr ? words_beginning_with(store_, beginning)
                                : folded_->beginning_with(beginning))
                .empty();
}

bool query_plan::seeks_beginnings(const variant_request& request) const {
    if (request.beginning.empty() || any_begins(request.beginning)) return false;
    if (folded_ == nullptr) return !any_has(request.word);
    return whole_ != nullptr ? !whole_->has_like(request.word, all_folded_)
                             : folded_->like(request.word).empty();
}

variant_request query_plan::request_of(const query_part& part, const std::string& word) const {
    variant_request request{word, part.field, part.edits, part.beginning};
    if (part.edits != 0 || typos_ == typo_tolerance::never) return request;
    if (part.quoted || part.excluded || part.prefix || part.is_phrase()) return request;
    const std::string& typed = part.beginning.empty() ? word : part.beginning;
    const auto known = [&] {
        return part.folded || any_has(word) || (!part.beginning.empty() && any_begins(part.beginning));
    };
    if (typos_ == typo_tolerance::automatic && known()) return request;
    request.edits = max_typos(folded_ == nullptr ? typed : text::without_accents(typed));
    if (typos_ == typo_tolerance::one) request.edits = std::min(request.edits, 1U);
    return request;
}

const std::vector<query_plan::made_tier>* query_plan::tiers_of(const query_part& part,
                                                               const std::string& word) const {
    if (variants_.empty() || part.prefix || part.is_phrase()) return nullptr;
    const auto at = variants_.find(request_of(part, word));
    return at == variants_.end() || at->second.empty() ? nullptr : &at->second;
}

query_term query_plan::lists_of(const variant_request& request) {
    if (const auto at = made_.find(part_key(false, request.field, 0, {request.word})); at != made_.end()) {
        const made_part& made = at->second;
        return {.list = made.term ? terms_[*made.term].list : made.list,
                .titles = made.titles,
                .fields = made.fields};
    }
    const posting_list titles = store_.title_words().find(request.word);
    posting_list list = store_.words().find(request.word);
    if (whole_ != nullptr) list.whole = whole_->of_word(request.word);
    return {.list = list.document_frequency != 0 ? list : titles,
            .titles = titles,
            .fields = fields_of_term(request.word)};
}

std::vector<query_plan::made_tier> query_plan::make_tiers(const part_finder& finder,
                                                          const variant_request& request) {
    std::vector<made_tier> tiers;
    const query_term own = lists_of(request);
    documents_of_tier nearer = search_detail::documents_of(own.list, collection_);
    if (with_titles_) {
        const auto in_titles = search_detail::documents_of(own.titles, collection_);
        documents_of_tier both;
        std::ranges::set_union(nearer, in_titles, std::back_inserter(both));
        nearer = std::move(both);
    }
    for (variant_tier& tier : variants_of(store_, request, seeks_beginnings(request), folded_, near_, ctx_)) {
        if (tier.words.empty() && whole_ == nullptr) continue;
        ctx_.check_stop();
        part_documents found = finder.find_any(tier.words, request.field, with_titles_, in_fields());
        remove(found.found, nearer);
        remove(found.titles, nearer);
        for (auto& field : found.fields) remove(field, nearer);
        // Titles of near-duplicates belong to their kept documents.
        if (found.found.empty()) found.found = found.titles;
        if (found.found.empty() && whole_ == nullptr) continue;  // other shards may have some
        add_to(nearer, found.found);
        add_to(nearer, found.titles);
        auto& made = tiers.emplace_back();
        made.list =
            lists_.emplace_back(search_detail::list_of(found.found, collection_.document_lengths)).view();
        made.titles =
            lists_.emplace_back(search_detail::list_of(found.titles, collection_.document_lengths)).view();
        made.fields = fields_of_term(found.fields);
        made.documents = keep_documents(found.found);
        made.tier = std::move(tier);
    }
    return tiers;
}

void query_plan::add_variants(const part_finder& finder) {
    std::map<variant_request, std::uint32_t> counts;
    for (const query_part& part : query_.parts) {
        if (part.prefix || part.is_phrase()) continue;
        for (const std::string& word : part.words) {
            variant_request request = request_of(part, word);
            if (request.none()) continue;
            std::uint32_t& count = counts.try_emplace(std::move(request), 0).first->second;
            if (!part.excluded) ++count;
        }
    }
    for (const auto& [request, count] : counts) {
        auto& tiers = variants_[request] = make_tiers(finder, request);
        if (count == 0) continue;
        scored_variants_.push_back(request);
        for (made_tier& tier : tiers) {
            tier.term = terms_.size();
            terms_.push_back(
                {.list = tier.list, .count = count, .titles = tier.titles, .fields = tier.fields});
            names_.push_back(request.word +
                             (tier.tier.distance == 0 ? "*" : "~" + std::to_string(tier.tier.distance)));
        }
    }
}

void query_plan::set_counts_of_variants() {
    for (const variant_request& request : scored_variants_) {
        std::erase_if(variants_.at(request), [&](made_tier& tier) {
            tier.list.whole = terms_[tier.term].list.whole;
            return tier.list.scored_documents() == 0;
        });
    }
}

std::vector<search_detail::shard_bounds> query_plan::bounds(const ranking_options& ranking) {
    std::vector<search_detail::shard_bounds> bounds;
    const auto add = [&](const query_term& term) {
        bounds.push_back(
            fields_ != nullptr
                ? search_detail::shard_bounds{search_detail::field_bounds_of(collection_, term, *fields_), {}}
                : search_detail::bounds_in_shard(collection_, term.list, term.titles, ranking));
    };
    for (const variant_request& request : scored_variants_) {
        query_term own = lists_of(request);
        if (!made_.contains(part_key(false, request.field, 0, {request.word})))
            own.list = list_of_term(own.list, own.titles, request.word);
        add(own);
        for (const made_tier& tier : variants_.at(request))
            add({.list = tier.list, .titles = tier.titles, .fields = tier.fields});
    }
    return bounds;
}

void query_plan::weigh_variants(std::span<const search_detail::shard_bounds> bounds) {
    for (const variant_request& request : scored_variants_) {
        const std::int64_t least = bounds.front().together().least;
        bounds = bounds.subspan(1);
        for (made_tier& tier : variants_.at(request)) {
            tier.weight =
                search_detail::weight_below(least, bounds.front().together(), max_weight(tier.tier.distance));
            terms_[tier.term].weight = tier.weight;
            bounds = bounds.subspan(1);
        }
    }
}

void query_plan::show_variants() {
    for (const variant_request& request : scored_variants_) show_variants(request, variants_.at(request));
    if (whole_ == nullptr) std::erase_if(shown_variants_, [](const auto& of) { return of.words.empty(); });
    // What is marked is looked up by the beginning, which a broker cannot do in shards on other machines.
    const bool with_prefixes = whole_ != nullptr && whole_->has_remote_shards();
    for (const query_part& part : query_.parts)
        if ((part.folded || (part.prefix && with_prefixes)) && !part.excluded)
            std::ranges::move(words_of(part), std::back_inserter(variant_words_));
    std::ranges::sort(variant_words_);
    variant_words_.erase(std::ranges::unique(variant_words_).begin(), variant_words_.end());
}

void query_plan::show_variants(const variant_request& request, const std::vector<made_tier>& tiers) {
    found_variants shown;
    shown.word = request.word;
    for (const made_tier& tier : tiers) {
        std::vector<std::string> words = spelled(store_, tier.tier.words);
        if (tier.tier.distance != 0) {
            for (const std::string& word : words) {
                const auto list = store_.words().find(word);
                const auto documents = list.document_frequency != 0
                                           ? list.document_frequency
                                           : store_.title_words().find(word).document_frequency;
                shown.words.push_back({word, tier.tier.distance, documents});
            }
        }
        std::ranges::move(words, std::back_inserter(variant_words_));
    }
    sort_variants(shown.words);
    shown_variants_.push_back(std::move(shown));
}

}  // namespace quern
