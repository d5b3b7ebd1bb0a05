// SPDX-License-Identifier: Apache-2.0
// The n-grams of a query as terms: their weights, and the documents that have them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/search/query_lists.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// The weights of n-grams of 2 words, 3 words …, `order`, in units of query_term::weight. Throws usage_error for a text that
/// search_options::order_weights does not allow.
std::vector<std::uint32_t> fixed_order_weights(std::string_view text, unsigned order);

/// Each n-gram of 2 to `order` words of a sequence, in which nothing ends an n-gram: in order of their last words,
/// shorter ones first.
template <typename Word, typename Visit>
void each_ngram(std::span<const std::optional<Word>> words, unsigned order, const Visit& visit) {
    std::vector<Word> run;  // the last words, at most `order`
    for (const std::optional<Word>& word : words) {
        if (!word) {
            run.clear();
            continue;
        }
        if (run.size() == order) run.erase(run.begin());
        run.push_back(*word);
        for (std::size_t n = 2; n <= run.size(); ++n) visit(std::span<const Word>(run).last(n));
    }
}

/// The documents of an n-gram: a list of the store's index of pairs, or one made from the words in order. `made` owns it
/// then. Two words or more, by their ids. Cost: without an index, the words of all documents that have every word.
posting_list documents_of_ngram(const opened_store& store, const search_detail::token_stream& tokens,
                                std::span<const std::uint32_t> words, search_detail::made_list& made);

}  // namespace quern
