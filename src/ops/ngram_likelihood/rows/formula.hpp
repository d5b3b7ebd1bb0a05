// SPDX-License-Identifier: Apache-2.0
// From counts to weights, operation by operation: this fixes the bits on every place. Counts below 2^53 are exact doubles;
// each operation is rounded once. A plain header, which nvcc reads too.
#pragma once

#include <cstdint>

#include "base/canonical_math.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

/// The likelihoods of one n-gram. Its likelihood after its history in the collection is computed once.
struct smoother {
    ngram_smoothing smoothing = ngram_smoothing::jelinek_mercer;
    double lambda = 0, mu = 0, delta = 0;
    double background = 0;

    constexpr void set_background(std::uint64_t in_collection, std::uint64_t history_in_collection) {
        background = static_cast<double>(in_collection) / static_cast<double>(history_in_collection);
    }
    /// For a document that contains the history.
    constexpr double likelihood(std::uint64_t in_document, std::uint64_t history_in_document,
                                std::uint64_t followers) const {
        const double f = static_cast<double>(in_document), h = static_cast<double>(history_in_document);
        switch (smoothing) {
            case ngram_smoothing::dirichlet:
                return (f + mu * background) / (h + mu);
            case ngram_smoothing::absolute: {
                const double kept = f > delta ? f - delta : 0;
                return kept / h + delta * static_cast<double>(followers) / h * background;
            }
            default:
                return lambda * (f / h) + (1.0 - lambda) * background;
        }
    }
};

constexpr double likelihood(const ngram_counts& counts, smoother of) {
    if (counts.history_in_collection == 0) return 0;
    of.set_background(counts.in_collection, counts.history_in_collection);
    if (counts.history_in_document == 0) return of.background;
    return of.likelihood(counts.in_document, counts.history_in_document, counts.followers);
}

/// The idf of an n-gram that `holders` of `documents` documents contain.
constexpr double inverse_document_frequency(std::uint64_t documents, std::uint64_t holders) {
    const double df = static_cast<double>(holders);
    return canonical_log(1.0 + (static_cast<double>(documents) - df + 0.5) / (df + 0.5));
}

/// The part of BM25 that does not depend on the n-gram.
struct bm25_constants {
    double flat, slope;
    constexpr bm25_constants(double k1, double b, std::uint64_t words, std::uint64_t documents)
        : flat(k1 * (1.0 - b)),
          slope(words == 0 ? 0 : k1 * b / (static_cast<double>(words) / static_cast<double>(documents))) {}
    constexpr double weight(double idf, std::uint64_t in_document, std::uint64_t document_words) const {
        const double f = static_cast<double>(in_document);
        return (idf * f) / (f + (flat + slope * static_cast<double>(document_words)));
    }
};

/// From counts to the requested weight.
struct row_formula {
    ngram_measure measure = ngram_measure::likelihood;
    smoother smooth;
    bm25_constants bm25{0, 0, 0, 0};
    std::uint64_t document_count = 0;

    /// `holders`: documents that contain the n-gram; `document_words`: the length of the document.
    constexpr double weight(const ngram_counts& counts, std::uint64_t holders,
                            std::uint64_t document_words) const {
        if (measure != ngram_measure::bm25) return likelihood(counts, smooth);
        return bm25.weight(inverse_document_frequency(document_count, holders), counts.in_document,
                           document_words);
    }
};

}  // namespace quern::ngram_detail
