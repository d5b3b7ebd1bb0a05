// SPDX-License-Identifier: Apache-2.0
// Matrices of words and contexts for tests: random ones like those of texts, and adversarial ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "quern/ops/word_similarity.hpp"

namespace quern {

struct named_matrix {
    std::string name;
    context_matrix matrix;
};

/// From rows of (column, weight), in any order, each column once per row. A column's count is the number of rows that have
/// it.
inline context_matrix matrix_of(std::vector<std::vector<std::pair<std::uint32_t, float>>> rows,
                                std::uint32_t columns) {
    context_matrix made;
    made.words = static_cast<std::uint32_t>(rows.size());
    made.relations = 1;
    made.column_counts.resize(columns);
    made.offsets.push_back(0);
    for (auto& row : rows) {
        std::sort(row.begin(), row.end());
        for (const auto& [column, weight] : row) {
            made.columns.push_back(column);
            made.weights.push_back(weight);
            ++made.column_counts[column];
        }
        made.offsets.push_back(made.columns.size());
    }
    return made;
}

/// Rows like those of texts: the first words have most contexts, the first contexts most words. Some rows are empty.
inline context_matrix text_like(std::uint32_t words, std::uint32_t columns, double longest, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<std::vector<std::pair<std::uint32_t, float>>> rows(words);
    std::vector<std::uint8_t> met(columns);
    for (std::uint32_t w = 0; w < words; ++w) {
        const double length = longest / (1 + w * 8.0 / words) * uniform(random);
        std::vector<std::uint32_t> chosen;
        for (int i = 0; i < length; ++i) {
            const double u = uniform(random);
            const auto column = static_cast<std::uint32_t>(u * u * u * columns);
            if (std::exchange(met[column], 1) == 0) chosen.push_back(column);
        }
        for (const std::uint32_t c : chosen) {
            met[c] = 0;
            rows[w].emplace_back(c, static_cast<float>(std::exp(3 * uniform(random) - 1.5)));
        }
    }
    return matrix_of(std::move(rows), columns);
}

/// Small weights that are exact in few bits, so that many scores are equal.
inline context_matrix full_of_ties(std::uint32_t words, std::uint32_t columns, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::vector<std::pair<std::uint32_t, float>>> rows(words);
    for (std::uint32_t w = 0; w < words; ++w) {
        if (w % 3 == 1 && w > 8) {
            rows[w] = rows[random() % w];  // a duplicate
            continue;
        }
        for (std::uint32_t c = 0; c < columns; ++c)
            if (random() % 4 == 0) rows[w].emplace_back(c, static_cast<float>(1 + random() % 2));
    }
    return matrix_of(std::move(rows), columns);
}

inline std::vector<named_matrix> hostile_matrices() {
    using row = std::vector<std::pair<std::uint32_t, float>>;
    std::vector<named_matrix> all;
    all.push_back({"no words", {}});
    all.push_back({"no words, an offset", matrix_of({}, 3)});
    all.push_back({"one word", matrix_of({row{{0, 1.5F}}}, 2)});
    all.push_back({"two words alike", matrix_of({row{{0, 1.5F}}, row{{0, 2.5F}}}, 2)});
    all.push_back({"two words apart", matrix_of({row{{0, 1.5F}}, row{{1, 2.5F}}}, 2)});
    all.push_back({"empty rows", matrix_of(std::vector<row>(40), 7)});
    std::vector<row> full(70), equal(65, row{{1, 0.7F}, {2, 0.1F}, {5, 3.F}}), column(129);
    for (std::uint32_t w = 0; w < 70; ++w) {
        for (std::uint32_t c = 0; c < (w == 35 ? 300 : w % 3); ++c)
            full[w].emplace_back((c * 17 + w * (w != 35)) % 300, 0.25F + static_cast<float>(c % 5));
    }
    for (std::uint32_t w = 0; w < 129; ++w)
        if (w % 5 != 2) column[w].emplace_back(0, 0.01F * static_cast<float>(1 + w % 50));
    all.push_back({"one full row", matrix_of(full, 300)});
    all.push_back({"all equal", matrix_of(equal, 6)});
    all.push_back({"one column", matrix_of(column, 1)});
    all.push_back({"ties and duplicates", full_of_ties(150, 12, 4)});
    // Weights from 2^-10 to 2^12 together, sums that leave 41 fractional bits.
    std::mt19937 random(11);
    std::vector<row> wide(90);
    for (auto& r : wide)
        for (std::uint32_t c = 0; c < 200; ++c)
            if (random() % 3 == 0)
                r.emplace_back(c, std::ldexp(1.F + 1e-6F * static_cast<float>(random() % 1000),
                                             static_cast<int>(random() % 23) - 10));
    all.push_back({"weights of all sizes", matrix_of(wide, 200)});
    // Longer than 16 bits can count, and columns that every word has.
    std::vector<row> long_rows(20);
    for (std::uint32_t w = 0; w < 20; ++w)
        for (std::uint32_t c = w; c < 70'001; c += 1 + w % 7)
            long_rows[w].emplace_back(c, 4.F + 0.001F * static_cast<float>(c % 1000));
    all.push_back({"long rows", matrix_of(long_rows, 70'001)});
    return all;
}

}  // namespace quern
