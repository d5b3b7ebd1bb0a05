// SPDX-License-Identifier: Apache-2.0
// Pseudo-relevance feedback: words of the best documents, weighted, for a second search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

struct feedback_word {
    std::uint32_t word = 0;  ///< its id
    double weight = 0;       ///< above 0; rm3: the sum is 1; bo1: the highest is 1
};

/// The options.feedback_terms words of the first options.feedback_documents of `ranking` with the highest weights, by
/// falling weight, then by the word's bytes. Words in more than a tenth of the documents, and in more than ten, are not taken
/// (as in Anserini).
/// - rm3 (Abdul-Jaleel et al. 2004): the sum over the documents of f/|d| P(d), where P(d) is the document's share of the scores
///   or, of query likelihoods, of their exponentials.
/// - bo1 (Amati 2003): F log2((1 + p) / p) + log2(1 + p), with F the word's occurrences in the documents and p its occurrences in
///   the collection over the number of documents; of words in two of the documents or more, if there is more than one.
///
/// The same bits on every machine: sums are made in the order of the ranking. Throws `interrupted`. Cost: the words of these
/// documents.
std::vector<feedback_word> feedback_words(const opened_store& store, std::span<const scored_document> ranking,
                                          const search_options& options, const context& ctx);

}  // namespace quern
