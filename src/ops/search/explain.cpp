// SPDX-License-Identifier: Apache-2.0
// Decomposes a score: each term's parts by the scalar formulas of scoring.hpp, whose sum is the score.
#include <algorithm>

#include "ops/search/postings.hpp"
#include "ops/search/probabilistic_scorers.hpp"
#include "ops/search/scoring.hpp"
#include "ops/search/search_impl.hpp"

namespace quern::search_detail {
namespace {

/// The frequency of the document in a list; 0: not in it.
std::uint32_t frequency_in(const posting_list& list, const collection_view& collection,
                           std::uint32_t document) {
    if (list.document_frequency == 0) return 0;
    postings_cursor cursor(list, collection.document_lengths);
    cursor.seek_block(document);
    if (cursor.done()) return 0;
    cursor.decode();
    const auto found = std::ranges::lower_bound(cursor.documents(), document);
    if (found == cursor.documents().end() || *found != document) return 0;
    return cursor.frequencies()[static_cast<std::size_t>(found - cursor.documents().begin())];
}

template <typename Scorer>
score_parts parts_of_term(const collection_view& collection, const query_term& term,
                          const ranking_options& options, std::uint32_t document) {
    score_parts parts;
    if (term.list.scored_documents() == 0 || term.count == 0) return parts;
    const Scorer scorer(collection, term.list, options);
    const std::uint32_t length = collection.document_lengths[document];
    const std::int64_t scored = std::int64_t{term.count} - term.continued;
    parts.frequency = frequency_in(term.list, collection, document);
    parts.background = scored * weighted(scorer.background(), term.weight);
    if constexpr (Scorer::length_model::used)
        parts.length = -scored * weighted(typename Scorer::length_model(options).part(length), term.weight);
    if (parts.frequency != 0)
        parts.part = scored * weighted_part(scorer.part(parts.frequency, length), term.weight);
    if (options.title_weight != 0 && frequency_in(term.titles, collection, document) != 0)
        parts.title =
            term.count * weighted_part(title_part(collection, term.list, options.title_weight), term.weight);
    return parts;
}

score_parts parts_of_continuation(const query_continuation& continuation, const ranking_options& options,
                                  std::uint32_t document) {
    const continuation_scorer scorer(continuation, options);
    score_parts parts;
    parts.background = continuation.count * scorer.background();
    const auto found =
        std::ranges::lower_bound(continuation.documents, document, {}, &continued_document::document);
    if (found == continuation.documents.end() || found->document != document) return parts;
    parts.frequency = found->frequency;
    parts.history = found->history;
    parts.part = continuation.count * scorer.part(*found);
    return parts;
}

}  // namespace

std::vector<score_parts> parts_of(const collection_view& collection, const search_query& query,
                                  const ranking_options& options, std::uint32_t document) {
    std::vector<score_parts> parts;
    parts.reserve(query.terms.size() + query.continuations.size());
    with_scorer(options.model, [&]<typename Scorer>() {
        for (const query_term& term : query.terms)
            parts.push_back(parts_of_term<Scorer>(collection, term, options, document));
    });
    for (const query_continuation& continuation : query.continuations)
        parts.push_back(parts_of_continuation(continuation, options, document));
    return parts;
}

}  // namespace quern::search_detail
