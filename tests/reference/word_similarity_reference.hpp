// SPDX-License-Identifier: Apache-2.0
// Similarities of words by the printed formulas, in double precision, over a dense matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "quern/ops/word_similarity.hpp"

namespace quern::reference {

/// words × columns, 0 for missing entries and dropped columns.
inline std::vector<std::vector<double>> dense_rows(const context_matrix_view& matrix, std::uint32_t columns) {
    std::vector<std::uint32_t> order(matrix.column_counts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return matrix.column_counts[a] > matrix.column_counts[b];
    });
    std::vector<bool> counts(order.size());
    for (std::size_t k = 0; k < std::min<std::size_t>(columns, order.size()); ++k) counts[order[k]] = true;
    std::vector<std::vector<double>> rows(matrix.words, std::vector<double>(order.size()));
    for (std::size_t w = 0; w < matrix.words; ++w)
        for (std::uint64_t i = matrix.offsets[w]; i < matrix.offsets[w + 1]; ++i)
            if (counts[matrix.columns[i]])
                rows[w][matrix.columns[i]] = static_cast<double>(matrix.weights[i]);
    return rows;
}

/// The measures by their usual definitions, over distributions for the last two; 0 if nothing is shared.
inline double further_similarity(const std::vector<double>& a, const std::vector<double>& b,
                                 similarity_measure measure) {
    const double sum_a = std::accumulate(a.begin(), a.end(), 0.0),
                 sum_b = std::accumulate(b.begin(), b.end(), 0.0);
    double min = 0, max = 0, shared_a = 0, shared_b = 0, divergence = 0, skew = 0;
    constexpr double alpha = 0.99;
    for (std::size_t x = 0; x < a.size(); ++x) {
        min += std::min(a[x], b[x]);
        max += std::max(a[x], b[x]);
        if (a[x] > 0 && b[x] > 0) {
            shared_a += a[x];
            shared_b += b[x];
        }
        const double p = a[x] / sum_a, q = b[x] / sum_b, mean = (p + q) / 2;
        if (p > 0) divergence += p * std::log2(p / mean) / 2;
        if (q > 0) divergence += q * std::log2(q / mean) / 2;
        if (q > 0) skew += q * std::log(q / (alpha * p + (1 - alpha) * q));
    }
    if (min == 0) return 0;
    const double precision = shared_a / sum_a, recall = shared_b / sum_b;
    switch (measure) {
        case similarity_measure::jaccard:
            return min / max;
        case similarity_measure::weeds:
            return 2 * precision * recall / (precision + recall);
        case similarity_measure::jensen_shannon:
            return 1 - divergence;
        default:
            return 1 - skew / std::log(1 / (1 - alpha));
    }
}

/// Thesis formula 3.8, the cosine, or a further measure; 0 if nothing is shared.
inline double similarity(const std::vector<double>& a, const std::vector<double>& b,
                         similarity_measure measure) {
    if (measure > similarity_measure::cosine) return further_similarity(a, b, measure);
    double shared = 0, dot = 0, sums = 0, squares_a = 0, squares_b = 0;
    for (std::size_t x = 0; x < a.size(); ++x) {
        if (a[x] > 0 && b[x] > 0) shared += a[x] + b[x];
        dot += a[x] * b[x];
        sums += a[x] + b[x];
        squares_a += a[x] * a[x];
        squares_b += b[x] * b[x];
    }
    if (shared == 0) return 0;
    return measure == similarity_measure::lin ? shared / sums : dot / std::sqrt(squares_a * squares_b);
}

}  // namespace quern::reference
