// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/search/postings.hpp"
#include "ops/search/scoring.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/search.hpp"

namespace quern {
namespace search_detail {
namespace {

// With at most so many words in a query no sum of parts leaves 64 bits: a part is below 2^10 · 2^32 units.
constexpr std::uint64_t max_query_words = 1 << 18;

void check_options(const ranking_options& options) {
    const auto within = [](double x, double low, double high) {
        return x >= low && x <= high;
    };  // false for NaN
    switch (options.model) {
        case ranking_model::bm25:
            if (!within(options.k1, 0, 0x1p64)) throw usage_error("k1 must be 0 or more");
            if (!within(options.b, 0, 1)) throw usage_error("b must lie between 0 and 1");
            return;
        case ranking_model::ql:
            if (!(options.lambda > 0 && options.lambda < 1))
                throw usage_error("lambda must lie between 0 and 1");
            return;
        case ranking_model::dirichlet:
            if (!within(options.mu, 0x1p-64, 0x1p64)) throw usage_error("mu must be more than 0");
            return;
    }
    throw usage_error("no such ranking model");
}

template <typename Scorer>
std::vector<scored_document> rank(const collection_view& collection, std::span<const query_term> terms,
                                  const ranking_options& options, std::size_t k) {
    std::vector<std::int64_t> sums(collection.document_lengths.size());
    std::int64_t background = 0, query_words = 0;
    for (const query_term& term : terms) {
        if (term.list.document_frequency == 0 || term.count == 0) continue;
        const Scorer scorer(collection, term.list, options);
        background += term.count * scorer.background();
        query_words += term.count;
        for (postings_cursor cursor(term.list, collection.document_lengths); !cursor.done();
             cursor.next_block()) {
            cursor.decode();
            for (std::size_t i = 0; i < cursor.documents().size(); ++i) {
                const std::uint32_t document = cursor.documents()[i];
                sums[document] +=
                    term.count * scorer.part(cursor.frequencies()[i], collection.document_lengths[document]);
            }
        }
    }
    std::vector<scored_document> ranked;
    for (std::uint32_t document = 0; document < sums.size(); ++document) {
        if (sums[document] == 0) continue;
        std::int64_t score = sums[document] + background;
        if (options.model == ranking_model::dirichlet)
            score -= query_words * document_part(collection.document_lengths[document], options.mu);
        ranked.push_back({document, score});
    }
    k = std::min(k, ranked.size());
    std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(k), ranked.end(),
                      [](const scored_document& a, const scored_document& b) {
                          return a.fixed_score != b.fixed_score ? a.fixed_score > b.fixed_score
                                                                : a.document < b.document;
                      });
    ranked.resize(k);
    return ranked;
}

}  // namespace
}  // namespace search_detail

std::vector<scored_document> search(const collection_view& collection, std::span<const query_term> terms,
                                    const ranking_options& options, std::size_t k) {
    using namespace search_detail;
    check_options(options);
    std::uint64_t words = 0;
    for (const query_term& term : terms) words += term.count;
    if (words > max_query_words) throw usage_error("a query may hold 262144 words at most");
    for (const query_term& term : terms)
        if (term.list.collection_frequency < term.list.document_frequency ||
            term.list.collection_frequency > collection.words ||
            term.list.document_frequency > collection.document_lengths.size())
            throw damaged_store("the store", "postings", "a list's counts do not fit the collection");
    switch (options.model) {
        case ranking_model::bm25:
            return rank<bm25_scorer>(collection, terms, options, k);
        case ranking_model::ql:
            return rank<jelinek_mercer_scorer>(collection, terms, options, k);
        case ranking_model::dirichlet:
            return rank<dirichlet_scorer>(collection, terms, options, k);
    }
    return {};
}

}  // namespace quern
