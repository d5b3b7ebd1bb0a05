// SPDX-License-Identifier: Apache-2.0
// The terms of a query plan that have weights by a model: pairs of words, and words of feedback.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ops/search/phrases.hpp"
#include "ops/search/proximity.hpp"
#include "tasks/search/query_plan.hpp"

namespace quern {
namespace {

std::uint32_t fixed_weight(double share) {
    return static_cast<std::uint32_t>(
        std::clamp(std::nearbyint(share * weight_one), 1.0, double{weight_one}));
}

}  // namespace

/// The place of a word outside of phrases among the terms, where words come first, in order; or their number.
std::size_t query_plan::word_place(std::string_view word) const {
    const auto at = std::ranges::lower_bound(words_, word);
    return at == words_.end() || *at != word ? words_.size() : static_cast<std::size_t>(at - words_.begin());
}

void query_plan::add_pairs(const search_options& options) {
    const std::uint32_t ordered = fixed_weight(options.ordered_weight),
                        unordered = fixed_weight(options.unordered_weight);
    for (std::size_t i = 0; i < words_.size(); ++i)
        terms_[i].weight = fixed_weight(1 - options.ordered_weight - options.unordered_weight);
    // Neighbours in the query, with how often they are.
    std::map<std::pair<std::string, std::string>, std::uint32_t> pairs;
    const std::string* before = nullptr;
    for (const query_part& part : query_.parts) {
        if (part.excluded || !part.is_loose()) {
            before = nullptr;
            continue;
        }
        for (const std::string& word : part.words) {
            if (before != nullptr) ++pairs[{*before, word}];
            before = &word;
        }
    }
    for (const auto& [pair, count] : pairs) {
        const auto first = store_.words().dictionary().find(pair.first),
                   second = store_.words().dictionary().find(pair.second);
        if (!is_known(pair.first) || !is_known(pair.second)) continue;
        const std::string ordered_name = "\"" + pair.first + " " + pair.second + "\"",
                          near_name = "#uw" + std::to_string(options.window) + "(" + pair.first + " " +
                                      pair.second + ")";
        if (!first || !second) {  // only in other shards
            add_pair(ordered_name, {}, count, ordered);
            add_pair(near_name, {}, count, unordered);
            continue;
        }
        const search_detail::phrase_word words[] = {{*first, store_.words().postings(*first)},
                                                    {*second, store_.words().postings(*second)}};
        add_pair(ordered_name, search_detail::find_phrase(collection_, *tokens_, words), count, ordered);
        add_pair(near_name,
                 search_detail::find_window(collection_, *tokens_, words[0], words[1], options.window, &ctx_),
                 count, unordered);
    }
}

void query_plan::add_pair(std::string name, const std::vector<search_detail::phrase_posting>& found,
                          std::uint32_t count, std::uint32_t weight) {
    if (found.empty() && whole_ == nullptr) return;
    const auto& list = lists_.emplace_back(search_detail::list_of(found, collection_.document_lengths));
    terms_.push_back({list.view(), count, {}, 0, weight});
    names_.push_back(std::move(name));
}

void query_plan::add_feedback(std::span<const feedback_word> words, const search_options& options) {
    if (words.empty()) return;
    const auto mass = [](const query_term& term) { return static_cast<double>(term.count) * term.weight; };
    double whole = 0;  // of the query: its sum for rm3, its highest for bo1
    for (const query_term& term : terms_)
        whole = options.feedback == feedback_method::bo1 ? std::max(whole, mass(term)) : whole + mass(term);
    std::vector<double> shares;
    for (const query_term& term : terms_) shares.push_back(options.original_weight * (mass(term) / whole));
    struct new_word {
        std::string word;
        std::uint32_t id;
        double share;
    };
    std::vector<new_word> others;
    double highest = 0;
    for (const feedback_word& of : words) {
        const double share = (1 - options.original_weight) * of.weight;
        std::string word = store_.words().dictionary().word(of.word);
        const std::size_t place = word_place(word);
        if (place < words_.size()) {
            shares[place] += share;
        } else {
            others.push_back({std::move(word), of.word, share});
            highest = std::max(highest, share);
        }
    }
    for (const double share : shares) highest = std::max(highest, share);
    if (highest == 0) return;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
        terms_[i].count = std::min<std::uint32_t>(terms_[i].count, 1);
        terms_[i].weight = fixed_weight(shares[i] / highest);
    }
    for (similar_word& of : similar_)
        of.weight =
            static_cast<double>(
                terms_[terms_.size() - similar_.size() + static_cast<std::size_t>(&of - similar_.data())]
                    .weight) /
            weight_one;
    std::ranges::sort(others, {}, &new_word::word);
    for (const auto& [word, id, share] : others) {
        const double fixed = std::nearbyint(share / highest * weight_one);
        if (fixed < 1) continue;
        const posting_list titles = store_.title_words().find(word);
        terms_.push_back({.list = list_of_term(store_.words().postings(id), titles, word),
                          .titles = titles,
                          .weight = static_cast<std::uint32_t>(fixed),
                          .fields = fields_of_term(word)});
        names_.push_back(word);
        similar_.push_back({word, "", fixed / weight_one});
    }
    if (!required_terms_.empty()) required_terms_.resize(terms_.size(), 0);
}

}  // namespace quern
