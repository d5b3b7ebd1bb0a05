// SPDX-License-Identifier: Apache-2.0
// Ranked search over posting lists: BM25 and query likelihood, exact, any k.
// Contract class: exact. Scores are sums of fixed-point parts, so the order of summation is free and every
// device, thread count and run gives the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

enum class ranking_model {
    bm25,  ///< Okapi BM25; idf = ln(1 + (N - df + .5) / (df + .5)) (Robertson and Zaragoza 2009, Lucene's idf)
    ql,  ///< query likelihood, Jelinek-Mercer: sum of ln(λ f(t,d)/|d| + (1-λ) f(t,C)/|C|) (Zhai and Lafferty 2004)
    dirichlet,  ///< query likelihood, Dirichlet: sum of ln((f(t,d) + μ f(t,C)/|C|) / (|d| + μ))
    /// Query likelihood, both: with p = f(t,C)/|C|, sum of ln(λ (f(t,d) + μ p) / (|d| + μ) + (1-λ) p) (Zhai and
    /// Lafferty 2002)
    two_stage,
};
inline constexpr std::string_view ranking_model_names[] = {"bm25", "ql", "dirichlet", "two-stage"};

struct ranking_options {
    ranking_model model = ranking_model::bm25;
    double k1 = 0.9;      ///< BM25: 0 <= k1 <= 2^64
    double b = 0.4;       ///< BM25: 0 <= b <= 1
    double mu = 1000;     ///< Dirichlet and two-stage: 2^-64 <= mu <= 2^64
    double lambda = 0.5;  ///< Jelinek-Mercer and two-stage: weight of the document, 0 < lambda < 1
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

/// Weights of terms are in units of 2^-16: this one is 1.
inline constexpr std::uint32_t whole_weight = 1 << 16;

/// A word of the query, or a phrase, whose list is made for the query; or a word that is like one of the query.
struct query_term {
    posting_list list;
    std::uint32_t count = 1;   ///< how often the query holds the word
    posting_list titles = {};  ///< documents with the word in a title: of `list` or not
    /// Of `count`, those that stand in `search_query::continuations`; they have no part by the model.
    std::uint32_t continued = 0;
    /// 1 to whole_weight. With less than whole_weight, each number x that the term adds (a part, the background, what a
    /// length takes) becomes floor(x · weight / 2^16), and a part is one unit at least.
    std::uint32_t weight = whole_weight;
};

/// A document that holds a history, with how often and how it goes on.
struct continued_document {
    std::uint32_t document = 0;
    std::uint32_t history =
        0;  ///< h(d) >= 1: occurrences of the history that are followed by a word of the document
    std::uint32_t frequency = 0;  ///< f(d) <= h(d): of these, those followed by the word
    friend bool operator==(const continued_document&, const continued_document&) = default;
};

/// A word of the query behind a history, the words before it, by query likelihood with Jelinek-Mercer smoothing: every
/// document adds fixed(ln P), where P is `likelihood_of` (quern/ops/ngram_likelihood.hpp): with pC = f(C) / h(C)
/// λ f(d) / h(d) + (1-λ) pC in a document that holds the history, pC in others.
struct query_continuation {
    std::span<const continued_document> documents;  ///< every one that holds the history, rising
    std::uint64_t frequency = 0;                    ///< f(C) >= 1
    std::uint64_t history = 0;                      ///< h(C): the sum of h(d)
    std::uint32_t count = 1;                        ///< how often the query holds it
};

/// What each document is worth before any word is asked for, by its rank: fixed(weight · ln(max(1, rank) · unit)).
struct document_prior {
    std::span<const std::uint64_t> ranks;  ///< one a document
    double unit = 1;    ///< 2^-126 to 2^62; with N / (sum of the ranks) the average rank adds 0
    double weight = 1;  ///< 0 to 100
    /// most_ranks(ranks), where they are kept for many queries; else (empty) a query makes them.
    std::span<const std::uint64_t> most = {};
};
/// The highest rank of each 4,096 documents.
std::vector<std::uint64_t> most_ranks(std::span<const std::uint64_t> ranks);
/// What the prior adds to the document's score, in units of 2^-32.
std::int64_t prior_part(const document_prior& prior, std::uint32_t document);

/// In place of a part: the document is not in the list.
inline constexpr std::int64_t not_listed = INT64_MIN;

struct search_query {
    std::span<const query_term> terms;
    /// For ranking_model::ql alone.
    std::span<const query_continuation> continuations = {};
    /// The only documents that may be found, strictly rising; by default all.
    std::optional<std::span<const std::uint32_t>> allowed = {};
    std::optional<document_prior> prior = {};
    /// Another ranked list, one part a document, in units of 2^-32, of 2^50 at most either way, or not_listed: it is added to
    /// the score, and the documents of the list may be found whether they hold a term or not.
    std::optional<std::span<const std::int64_t>> listed = {};
    std::optional<std::uint32_t> left_out = {};  ///< a document that is not to be found
    /// Who asks: where its stop flag is raised, the search ends with `interrupted`.
    const context* run = nullptr;
};

struct scored_document {
    std::uint32_t document = 0;
    std::int64_t fixed_score = 0;  ///< in units of 2^-32
    double score() const { return static_cast<double>(fixed_score) * 0x1p-32; }
    friend bool operator==(const scored_document&, const scored_document&) = default;
};

/// The k best documents among those that hold at least one query term or are listed (and are allowed); score falling, then
/// document rising. `k` may exceed the number of matches. Words unknown to the collection are left out by the caller: they add
/// the same nothing to every document. Throws usage_error for parameters out of range (not-a-number too; those
/// of every model), for queries of more than 262,144 words and for documents that do not rise, damaged_store where
/// the bytes of a list are not what postings_writer wrote.
/// A score is, in units of 2^-32, the sum over the query's words of rounded parts, the prior and the listed part;
/// docs/search.md fixes them operation by operation. Contract class: exact. Safe to call from many threads at once.
/// Cost: time O(postings of the terms + k log k) at most, less where block bounds let parts of lists be left out, which
/// they never do with continuations or a list: that takes all of its documents too; scratch O(terms + k), about 90 KiB on
/// the stack.
std::vector<scored_document> search(const collection_view& collection, const search_query& query,
                                    const ranking_options& options, std::size_t k);

/// What one term or continuation gives to a document's score, in units of 2^-32, times its count.
struct score_parts {
    std::uint32_t frequency = 0;  ///< in the document
    std::uint32_t history = 0;    ///< of continuations: h(d)
    std::int64_t background = 0;  ///< what a document gets that lacks it
    std::int64_t length = 0;      ///< what its length adds to that
    std::int64_t part = 0;        ///< what its occurrences add
    std::int64_t title = 0;       ///< what its standing in the title adds
    std::int64_t sum() const { return background + length + part + title; }
};

/// Why a document has its score: its parts by each term, then by each continuation. They sum to the score exactly, with
/// prior_part and the listed part.
/// Throws as `search` does, and usage_error for a document that is none. Cost: a block of each list, a pass over the rest.
std::vector<score_parts> explain(const collection_view& collection, const search_query& query,
                                 const ranking_options& options, std::uint32_t document);

}  // namespace quern
