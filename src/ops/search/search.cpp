// SPDX-License-Identifier: Apache-2.0
// The entry point of search: rejects what cannot be ranked, with the same messages on every place.
#include "quern/ops/search.hpp"

#include <algorithm>

#include "ops/search/document_bits.hpp"
#include "ops/search/scoring.hpp"
#include "ops/search/search_impl.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/search_option_table.hpp"

namespace quern {
namespace search_detail {
namespace {

// With at most this many words in a query, no sum of parts exceeds 64 bits: a part is below 2^12 · 2^32 units.
constexpr std::uint64_t max_query_words = 1 << 18;

void check_counts(const posting_list& list, const collection_view& collection, const char* section) {
    if (list.collection_frequency < list.document_frequency || list.collection_frequency > collection.words ||
        list.document_frequency > collection.document_lengths.size() ||
        list.scored_documents() < list.document_frequency ||
        list.scored_occurrences() < list.collection_frequency)
        throw damaged_store("the store", section, "a list's counts do not match the collection");
}

void check_rising(std::span<const std::uint32_t> documents, std::size_t size) {
    std::uint64_t next = 0;
    for (const std::uint32_t document : documents) {
        if (document < next || document >= size)
            throw usage_error("allowed and forbidden documents must ascend within the collection");
        next = std::uint64_t{document} + 1;
    }
}

void check_bits(std::span<const std::uint64_t> bits, std::size_t documents) {
    if (bits.empty()) return;
    const bool fits = bits.size() == words_of_bits(documents);
    if (!fits || (documents % 64 != 0 && bits.back() >> documents % 64 != 0))
        throw usage_error("the passing documents must have a bit for each document and no other");
}

void check_continuation(const query_continuation& continuation, const collection_view& collection,
                        const ranking_options& options) {
    if (options.model != ranking_model::ql)
        throw usage_error("histories of words need the model query likelihood (ql)");
    std::uint64_t next = 0, histories = 0, frequency = 0;
    for (const continued_document& of : continuation.documents) {
        if (of.document < next || of.document >= collection.document_lengths.size() || of.history == 0 ||
            of.frequency > of.history)
            throw usage_error(
                "documents of a history must ascend within the collection, with consistent counts");
        next = std::uint64_t{of.document} + 1;
        histories += of.history;
        frequency += of.frequency;
    }
    if (frequency == 0 || frequency != continuation.frequency || histories != continuation.history)
        throw usage_error("the counts of a history do not match its documents");
}

void check_prior(const document_prior& prior, std::size_t documents) {
    check_ranges(prior);
    const auto blocks = (documents + documents_of_max_ranks - 1) / documents_of_max_ranks;
    if (prior.ranks.size() != documents || (!prior.max.empty() && prior.max.size() != blocks))
        throw usage_error("a prior must have a rank for each document");
}

void check_listed(std::span<const std::int64_t> parts, std::size_t documents) {
    constexpr std::int64_t max = std::int64_t{1} << 50;
    if (parts.size() != documents) throw usage_error("a list must have a part for each document");
    bool fits = true;
    for (const std::int64_t part : parts) fits = fits && (part == no_boost || (part >= -max && part <= max));
    if (!fits) throw usage_error("a listed part must be between -2^50 and 2^50");
}
}  // namespace

void check_query(const collection_view& collection, const search_query& query,
                 const ranking_options& options) {
    validate(options);
    std::uint64_t words = 0;
    for (const query_term& term : query.terms) words += term.count;
    for (const query_continuation& continuation : query.continuations) words += continuation.count;
    if (words > max_query_words) throw usage_error("too many words in a query (at most 262144)");
    for (const query_term& term : query.terms) {
        check_counts(term.list, collection, "postings");
        check_counts(term.titles, collection, "title_postings");
        for (const posting_list& field : term.fields) check_counts(field, collection, "field postings");
        if (term.continued > term.count)
            throw usage_error("a query has more words with a history than words");
        if (term.weight < 1 || term.weight > weight_one)
            throw usage_error("the weight of a term must be between 2^-16 and 1");
    }
    for (const query_continuation& continuation : query.continuations)
        check_continuation(continuation, collection, options);
    if (query.allowed) check_rising(*query.allowed, collection.document_lengths.size());
    check_rising(query.forbidden, collection.document_lengths.size());
    check_bits(query.passing, collection.document_lengths.size());
    if (query.prior) check_prior(*query.prior, collection.document_lengths.size());
    if (query.boosts) check_listed(*query.boosts, collection.document_lengths.size());
}

}  // namespace search_detail

void validate(const ranking_options& options) {
    check_ranges(options);
    constexpr double max_k1 = 100;  // a part is below 2^12
    const bool multiplies = options.model == ranking_model::atire || uses_delta(options.model);
    if (multiplies && options.k1 > max_k1)
        throw usage_error(
            "k1: invalid value (expected a number from 0 to 100 with the models atire, bm25+ and "
            "bm25l)");
}

std::vector<scored_document> search(const collection_view& collection, const search_query& query,
                                    const ranking_options& options, std::size_t k) {
    search_detail::check_query(collection, query, options);
    if (k == 0) return {};
    return search_detail::rank_cpu(collection, query, options, k);
}

std::vector<std::uint64_t> max_ranks(std::span<const std::uint64_t> ranks) {
    std::vector<std::uint64_t> max;
    constexpr auto size = search_detail::documents_of_max_ranks;
    max.reserve(ranks.size() / size + 1);
    for (; !ranks.empty(); ranks = ranks.subspan(std::min<std::size_t>(size, ranks.size())))
        max.push_back(std::ranges::max(ranks.first(std::min<std::size_t>(size, ranks.size()))));
    return max;
}

std::int64_t prior_part(const document_prior& prior, std::uint32_t document) {
    if (document >= prior.ranks.size()) throw usage_error("no such document");
    return search_detail::prior_of_rank(prior.ranks[document], prior);
}

std::vector<score_parts> explain(const collection_view& collection, const search_query& query,
                                 const ranking_options& options, std::uint32_t document) {
    search_detail::check_query(collection, query, options);
    if (document >= collection.document_lengths.size()) throw usage_error("no such document");
    return search_detail::parts_of(collection, query, options, document);
}

}  // namespace quern
