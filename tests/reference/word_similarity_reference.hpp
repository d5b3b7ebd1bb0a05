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

/// Thesis formula 3.8, or the cosine; 0 if nothing is shared.
inline double similarity(const std::vector<double>& a, const std::vector<double>& b,
                         similarity_measure measure) {
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
