// SPDX-License-Identifier: Apache-2.0
// Ranked search over posting lists: BM25 and unigram query likelihood, exact, any k.
// Contract class: exact. Scores are sums of fixed-point parts, so the order of summation is free and every
// device, thread count and run gives the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

enum class ranking_model {
    bm25,  ///< Okapi BM25; idf = ln(1 + (N - df + .5) / (df + .5)) (Robertson and Zaragoza 2009, Lucene's idf)
    ql,  ///< query likelihood, Jelinek-Mercer: sum of ln(λ f(t,d)/|d| + (1-λ) f(t,C)/|C|) (Zhai and Lafferty 2004)
    dirichlet,  ///< query likelihood, Dirichlet: sum of ln((f(t,d) + μ f(t,C)/|C|) / (|d| + μ))
};

struct ranking_options {
    ranking_model model = ranking_model::bm25;
    double k1 = 0.9;      ///< BM25: 0 <= k1 <= 2^64
    double b = 0.4;       ///< BM25: 0 <= b <= 1
    double mu = 1000;     ///< Dirichlet: 2^-64 <= mu <= 2^64
    double lambda = 0.5;  ///< Jelinek-Mercer: weight of the document, 0 < lambda < 1
    /// What a query word in a document's title adds to its score, in units of the word's idf; 0: nothing. The
    /// published models know no titles: leave it at 0 to compare with them.
    double title_weight = 0;  ///< 0 <= title_weight <= 100
};

/// The documents that hold one word, encoded by postings_writer (src/ops/search/postings.hpp).
struct posting_list {
    std::span<const char> bytes;
    std::uint32_t document_frequency = 0;    ///< documents in the list
    std::uint64_t collection_frequency = 0;  ///< occurrences in the collection
};

struct collection_view {
    std::span<const std::uint32_t> document_lengths;  ///< words in each document; the size is N
    std::uint64_t words = 0;                          ///< their sum
};

struct query_term {
    posting_list list;
    std::uint32_t count = 1;   ///< how often the query holds the word
    posting_list titles = {};  ///< documents with the word in their title: some of `list`, or none
};

struct scored_document {
    std::uint32_t document = 0;
    std::int64_t fixed_score = 0;  ///< in units of 2^-32
    double score() const { return static_cast<double>(fixed_score) * 0x1p-32; }
    friend bool operator==(const scored_document&, const scored_document&) = default;
};

/// The k best documents among those that hold at least one query term; score falling, then document rising.
/// `k` may exceed the number of matches. Words unknown to the collection are left out by the caller: they add
/// the same nothing to every document. Throws usage_error for parameters out of range (not-a-number too; those
/// of every model) and
/// for queries of more than 262,144 words, damaged_store where
/// the bytes of a list are not what postings_writer wrote.
/// A score is, in units of 2^-32, the sum over the query's words of rounded parts; docs/search.md fixes them
/// operation by operation. Contract class: exact. Safe to call from many threads at once.
/// Cost: time O(postings of the terms + k log k) at most, less where block bounds let parts of lists be left out;
/// scratch O(terms + k), about 90 KiB on the stack.
std::vector<scored_document> search(const collection_view& collection, std::span<const query_term> terms,
                                    const ranking_options& options, std::size_t k);

}  // namespace quern
