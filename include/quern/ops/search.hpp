// SPDX-License-Identifier: Apache-2.0
// Ranked search over posting lists: BM25 and query likelihood, exact, any k. Contract class: exact. Scores are
// sums of fixed-point parts, so the order of summation does not matter: the same bits on every device, for any
// number of threads and in every run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

enum class ranking_model {
    /// Okapi BM25; idf = ln(1 + (N - df + .5) / (df + .5)) (Robertson and Zaragoza 2009, Lucene's idf).
    bm25,
    /// Query likelihood, Jelinek-Mercer: sum of ln(λ f(t,d)/|d| + (1-λ) f(t,C)/|C|) (Zhai and Lafferty 2004).
    ql,
    dirichlet,  ///< query likelihood, Dirichlet: sum of ln((f(t,d) + μ f(t,C)/|C|) / (|d| + μ))
    /// Query likelihood, both: with p = f(t,C)/|C|, sum of ln(λ (f(t,d) + μ p) / (|d| + μ) + (1-λ) p) (Zhai and
    /// Lafferty 2002)
    two_stage,
    // Variants of BM25, as in Kamphuis, de Vries, Boytsov and Lin 2020; N, df, f, K = k1 (1 - b + b |d| / average):
    lucene,     ///< bm25 with lengths in one byte, as Lucene keeps them
    robertson,  ///< idf = ln((N - df + .5) / (df + .5)), at least 0 (Robertson et al. 1994)
    atire,      ///< ln(N / df) (k1 + 1) f / (K + f) (Trotman, Jia and Crane 2012)
    bm25_plus,  ///< ln((N + 1) / df) (δ + (k1 + 1) f / (K + f)) (Lv and Zhai 2011)
    bm25l,  ///< ln((N + 1) / (df + .5)) (k1 + 1) (c + δ) / (k1 + c + δ), c = f k1 / K (Lv and Zhai 2011)
    // Divergence from randomness (Amati and van Rijsbergen 2002), t = f log2(1 + c average / |d|):
    pl2,  ///< Poisson, λ = f(t,C) / N: (t log2(t/λ) + (λ - t) log2 e + log2(2πt) / 2) / (t + 1), at least 0
    inl2,  ///< t / (t + 1) log2((N + 1) / (df + .5))
    /// The inner product of learned weights: sum of posting_list::unit f(t,d), each product rounded to 2^-32.
    impact,
};
inline constexpr std::string_view ranking_model_names[] = {"bm25",   "ql",        "dirichlet", "two-stage",
                                                           "lucene", "robertson", "atire",     "bm25+",
                                                           "bm25l",  "pl2",       "inl2",      "impact"};
/// Which parameters a model uses.
constexpr bool uses_k1(ranking_model model) {
    return model == ranking_model::bm25 || (model >= ranking_model::lucene && model <= ranking_model::bm25l);
}
constexpr bool uses_delta(ranking_model model) {
    return model == ranking_model::bm25_plus || model == ranking_model::bm25l;
}
constexpr bool uses_mu(ranking_model model) {
    return model == ranking_model::dirichlet || model == ranking_model::two_stage;
}
constexpr bool uses_lambda(ranking_model model) {
    return model == ranking_model::ql || model == ranking_model::two_stage;
}
constexpr bool uses_c(ranking_model model) {
    return model == ranking_model::pl2 || model == ranking_model::inl2;
}

struct ranking_options {
    ranking_model model = ranking_model::bm25;
    double k1 = 0.9;      ///< BM25: 0 <= k1 <= 2^64; atire, bm25+ and bm25l: at most 100
    double b = 0.4;       ///< BM25: 0 <= b <= 1
    double mu = 1000;     ///< Dirichlet and two-stage: 2^-64 <= mu <= 2^64
    double lambda = 0.5;  ///< Jelinek-Mercer and two-stage: weight of the document model, 0 < lambda < 1
    double delta = 1;     ///< bm25+ and bm25l: 0 <= delta <= 10
    double c = 1;         ///< pl2 and inl2: 2^-64 <= c <= 2^64
    /// Bonus for a query word in a document's title, in units of the word's idf; 0: none. The published models
    /// have no titles: keep 0 to compare with them.
    double title_weight = 0;  ///< 0 <= title_weight <= 100

    friend bool operator==(const ranking_options&, const ranking_options&) = default;
};

/// Throws usage_error if an option of any model is out of range (quern/ops/search_option_table.hpp), and for k1 above 100
/// with a model that multiplies by it.
void validate(const ranking_options& options);

/// Where a list or a collection is a part: the counts of the whole, with which scores are computed. All 0: it is the whole.
struct whole_counts {
    std::uint64_t documents = 0, occurrences = 0;
    friend bool operator==(const whole_counts&, const whole_counts&) = default;
};

/// The documents that contain one word, encoded by postings_writer (src/ops/search/postings.hpp).
struct posting_list {
    std::span<const char> bytes;
    std::uint32_t document_frequency = 0;    ///< documents in the list
    std::uint64_t collection_frequency = 0;  ///< occurrences in the collection
    /// Only for ranking_model::impact: what a frequency of 1 adds to a score, with the word's weight in the query;
    /// unit times any frequency of the list is below 2^18.
    double unit = 1;
    /// Of a part of a collection, which may lack the word: its documents and occurrences in the whole.
    whole_counts whole = {};

    /// df and cf of the models.
    constexpr std::uint64_t scored_documents() const {
        return whole.documents != 0 ? whole.documents : document_frequency;
    }
    constexpr std::uint64_t scored_occurrences() const {
        return whole.documents != 0 ? whole.occurrences : collection_frequency;
    }
};

struct collection_view {
    std::span<const std::uint32_t> document_lengths;  ///< in words; the size is N
    std::uint64_t words = 0;                          ///< their sum
    whole_counts whole = {};                          ///< of a part: documents and words of the whole

    /// N and |C| of the models.
    constexpr std::uint64_t scored_documents() const {
        return whole.documents != 0 ? whole.documents : document_lengths.size();
    }
    constexpr std::uint64_t scored_words() const { return whole.documents != 0 ? whole.occurrences : words; }
};

/// The weight 1: weights of terms are in units of 2^-16.
inline constexpr std::uint32_t weight_one = 1 << 16;

/// A word of the query; a phrase, whose list is made for the query; or a word similar to one of the query.
struct query_term {
    posting_list list;
    std::uint32_t count = 1;   ///< occurrences in the query
    posting_list titles = {};  ///< documents with the word in the title, in `list` or not
    /// Those of `count` that are in `search_query::continuations`; the model gives them no part.
    std::uint32_t continued = 0;
    /// 1 to weight_one. Below weight_one, each number x of the term (part, background, length) becomes
    /// floor(x · weight / 2^16), and a part is at least one unit.
    std::uint32_t weight = weight_one;
    /// Only for search_fields: of each further field the documents with the word there, all of them in `list`, with the
    /// occurrences there. Empty: none.
    std::span<const posting_list> fields = {};
};

/// A document that contains a history, with its counts.
struct continued_document {
    std::uint32_t document = 0;
    /// h(d) >= 1: occurrences of the history that a word of the document follows.
    std::uint32_t history = 0;
    std::uint32_t frequency = 0;  ///< f(d) <= h(d): of these, those followed by the word
    friend bool operator==(const continued_document&, const continued_document&) = default;
};

/// A word of the query given its history (the words before it), by query likelihood with Jelinek-Mercer
/// smoothing: every document gets fixed(ln P), where P is `likelihood_of` (quern/ops/ngram_likelihood.hpp):
/// with pC = f(C) / h(C), λ f(d) / h(d) + (1-λ) pC in a document that contains the history, pC in others.
struct query_continuation {
    std::span<const continued_document> documents;  ///< all that contain the history, ascending
    std::uint64_t frequency = 0;                    ///< f(C) >= 1
    std::uint64_t history = 0;                      ///< h(C): the sum of h(d)
    std::uint32_t count = 1;                        ///< occurrences in the query
};

/// Query-independent score of each document, by its rank: fixed(weight · ln(max(1, rank) · unit)).
struct document_prior {
    std::span<const std::uint64_t> ranks;  ///< one per document
    double unit = 1;    ///< 2^-126 to 2^62; with N / (sum of the ranks) the average rank adds 0
    double weight = 1;  ///< 0 to 100
    /// max_ranks(ranks), if kept for many queries; if empty, each query computes them.
    std::span<const std::uint64_t> max = {};
};
/// The maximum rank of each block of 4,096 documents.
std::vector<std::uint64_t> max_ranks(std::span<const std::uint64_t> ranks);
/// The prior's part of the document's score, in units of 2^-32.
std::int64_t prior_part(const document_prior& prior, std::uint32_t document);

/// Instead of a part: the document is not in the list.
inline constexpr std::int64_t no_boost = INT64_MIN;

struct search_query {
    std::span<const query_term> terms;
    /// Only for ranking_model::ql.
    std::span<const query_continuation> continuations = {};
    /// The only documents to find, strictly ascending; by default all.
    std::optional<std::span<const std::uint32_t>> allowed = {};
    /// Documents not to find, strictly ascending.
    std::span<const std::uint32_t> forbidden = {};
    /// If not empty, the only documents to find, besides `allowed`, as bits: document d is bit d % 64 of word d / 64.
    std::span<const std::uint64_t> passing = {};
    std::optional<document_prior> prior = {};
    /// An additional score component, one part per document, in units of 2^-32 and at most 2^50 in absolute
    /// value, or no_boost. It is added to the score, and listed documents can be found even without a query
    /// term.
    std::optional<std::span<const std::int64_t>> boosts = {};
    std::optional<std::uint32_t> excluded = {};  ///< a document to exclude
    /// If its stop flag is set, the search throws `interrupted`.
    const context* ctx = nullptr;
};

struct scored_document {
    std::uint32_t document = 0;
    std::int64_t fixed_score = 0;  ///< in units of 2^-32
    double score() const { return static_cast<double>(fixed_score) * 0x1p-32; }
    friend bool operator==(const scored_document&, const scored_document&) = default;
};

/// The k best allowed documents that contain at least one query term or are listed, by descending score, then
/// ascending document. `k` may exceed the number of matches. The caller omits words unknown to the collection:
/// they add nothing to any document.
/// A score is, in units of 2^-32, the sum over the query's words of rounded parts, the prior and the listed
/// part; docs/search_ranking.md defines each operation. Contract class: exact. Thread-safe.
/// Throws usage_error for parameters of any model that are out of range or NaN, for queries of more than
/// 262,144 words and for documents that do not ascend; damaged_store if the bytes of a list were not written by
/// postings_writer.
/// Cost: at most O(postings of the terms + k log k) time, less if block bounds allow skipping parts of lists
/// (never with continuations or `boosts`, which also needs all its documents); O(terms + k) scratch memory,
/// about 90 KiB on the stack.
std::vector<scored_document> search(const collection_view& collection, const search_query& query,
                                    const ranking_options& options, std::size_t k);

/// The contribution of one term or continuation to a document's score, in units of 2^-32, multiplied by its
/// count.
struct score_parts {
    std::uint32_t frequency = 0;  ///< in the document
    std::uint32_t history = 0;    ///< h(d), for continuations
    std::int64_t background = 0;  ///< score of a document that lacks it
    std::int64_t length = 0;      ///< contribution of the document's length to that
    std::int64_t part = 0;        ///< contribution of its occurrences
    std::int64_t title = 0;       ///< contribution of the title
    std::int64_t sum() const { return background + length + part + title; }
};

/// Explains a document's score: its parts by term, then by continuation. Together with prior_part and the
/// listed part they sum exactly to the score. Throws as `search` does, and usage_error for an invalid document.
/// Cost: a block of each list, a pass over the rest.
std::vector<score_parts> explain(const collection_view& collection, const search_query& query,
                                 const ranking_options& options, std::uint32_t document);

}  // namespace quern
