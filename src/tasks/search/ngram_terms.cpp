// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/ngram_terms.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "ops/search/phrases.hpp"
#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"
#include "tasks/search/query_plan.hpp"
#include "tasks/store/ngram_index.hpp"

namespace quern {

std::vector<std::uint32_t> fixed_order_weights(std::string_view text, unsigned order) {
    std::vector<double> given;
    try {
        given = parse_numbers(text);
    } catch (const usage_error&) {
        given.clear();
    }
    if (given.empty() || !std::ranges::all_of(given, [](double w) { return w > 0 && w <= 1; }))
        throw usage_error("order_weights: invalid value '" + std::string(text) +
                          "' (expected numbers above 0, to 1, for pairs, three words and so on, as in 0.1 "
                          "0.05)");
    std::vector<std::uint32_t> weights;
    for (std::size_t n = 2; n <= order; ++n) {
        const double w = given[std::min(n - 2, given.size() - 1)];
        weights.push_back(static_cast<std::uint32_t>(std::max(1.0, std::nearbyint(w * weight_one))));
    }
    return weights;
}

posting_list documents_of_ngram(const opened_store& store, const search_detail::token_stream& tokens,
                                std::span<const std::uint32_t> words, search_detail::made_list& result) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        const auto pair = indexed_pair(store, words[i - 1], words[i]);
        if (pair && (words.size() == 2 || pair->document_frequency == 0)) return *pair;
    }
    std::vector<search_detail::phrase_word> phrase;
    phrase.reserve(words.size());
    for (const std::uint32_t word : words) phrase.push_back({word, store.words().postings(word)});
    const collection_view collection = store.collection();
    result = search_detail::list_of(search_detail::find_phrase(collection, tokens, phrase),
                                    collection.document_lengths);
    return result.view();
}

void query_plan::add_ngrams(const search_options& options) {
    const std::vector<std::uint32_t> weights = fixed_order_weights(options.order_weights, options.order);
    std::vector<std::optional<std::string>> words;
    for (const query_part& part : query_.parts) {
        if (part.excluded || !part.is_loose()) {
            words.emplace_back();
            continue;
        }
        for (const std::string& word : part.words)
            words.push_back(is_known(word) ? std::optional(word) : std::nullopt);
    }
    std::map<std::vector<std::string>, std::uint32_t> counts;
    each_ngram<std::string>(words, options.order, [&](std::span<const std::string> ngram) {
        ++counts[{ngram.begin(), ngram.end()}];
    });
    for (const auto& [ngram, count] : counts) {
        std::vector<std::uint32_t> ids;
        for (const std::string& word : ngram)
            if (const auto id = store_.words().dictionary().find(word)) ids.push_back(*id);
        search_detail::made_list made;
        posting_list list;  // of a shard that lacks a word: empty
        if (ids.size() == ngram.size()) list = documents_of_ngram(store_, *tokens_, ids, made);
        if (list.document_frequency == 0 && whole_ == nullptr) continue;
        if (!made.bytes.empty()) list = lists_.emplace_back(std::move(made)).view();
        terms_.push_back({list, count, {}, 0, weights[ngram.size() - 2]});
        std::string& name = names_.emplace_back("\"");
        for (const std::string& word : ngram) name.append(name.size() == 1 ? "" : " ").append(word);
        name += '"';
    }
}

}  // namespace quern
