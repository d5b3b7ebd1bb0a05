// SPDX-License-Identifier: Apache-2.0
// Counting and weighing by their definitions: two loops over the words, a map of triples, and the formulas in long double.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "quern/ops/word_similarity.hpp"

namespace quern::reference {

/// (word, relation, other word) → how often.
using triple_counts = std::map<std::array<std::uint32_t, 3>, std::uint64_t>;

inline triple_counts count_text(const std::vector<std::uint32_t>& text, const counting_options& options) {
    triple_counts counts;
    const auto size = static_cast<std::int64_t>(text.size()), window = std::int64_t{options.window};
    for (std::int64_t i = 0; i < size; ++i) {
        for (std::int64_t j = std::max<std::int64_t>(0, i - window); j <= std::min(size - 1, i + window);
             ++j) {
            bool same_passage = true;
            for (std::int64_t k = std::min(i, j); k <= std::max(i, j); ++k)
                same_passage = same_passage && text[k] != passage_end;
            if (i == j || !same_passage || text[i] == unknown_word || text[j] == unknown_word) continue;
            if (text[i] == text[j] && !options.count_self) continue;
            std::uint32_t relation = 0;
            if (options.relation == word_relation::position)
                relation = static_cast<std::uint32_t>(j < i ? j - i + window : j - i + window - 1);
            ++counts[{text[i], relation, text[j]}];
        }
    }
    return counts;
}

inline triple_counts count_triples(const std::vector<word_triple>& triples, bool count_self) {
    triple_counts counts;
    for (const word_triple& t : triples) {
        if (t.count == 0 || t.word == unknown_word || t.other == unknown_word) continue;
        if (t.word != t.other || count_self) counts[{t.word, t.relation, t.other}] += t.count;
    }
    return counts;
}

struct weighted_reference {
    std::map<std::array<std::uint32_t, 2>, long double> weights;  ///< (word, context), above the least
    std::vector<std::uint64_t> column_counts;
    std::uint64_t total = 0;
};

inline weighted_reference pmi(const triple_counts& counts, std::uint32_t words, std::uint32_t relations,
                              const pmi_options& options) {
    std::map<std::array<std::uint32_t, 2>, long double> of_row, of_column;
    std::map<std::uint32_t, long double> of_relation, of_word, of_other;
    weighted_reference result;
    result.column_counts.resize(std::size_t{words} * relations);
    long double total = 0;
    for (const auto& [triple, count] : counts) {
        const auto [w, r, v] = triple;
        const auto c = static_cast<long double>(count);
        of_row[{w, r}] += c;
        of_column[{r, v}] += c;
        of_relation[r] += c;
        of_word[w] += c;
        of_other[v] += c;
        total += c;
        result.total += count;
        result.column_counts[std::size_t{r} * words + v] += count;
    }
    for (const auto& [triple, count] : counts) {
        const auto [w, r, v] = triple;
        const long double rest =
            static_cast<long double>(count) - static_cast<long double>(options.discount.numerator) /
                                                  static_cast<long double>(options.discount.denominator);
        const long double weight =
            options.information == pmi_kind::conditional
                ? std::log(rest * of_relation[r] / (of_row[{w, r}] * of_column[{r, v}]))
                : std::log(rest * total * total / (of_word[w] * of_relation[r] * of_other[v]));
        // 2^-48 and less is the rounding noise of this formula.
        if (weight > 0x1p-48L && weight > static_cast<long double>(options.min_weight))
            result.weights[{w, r * words + v}] = weight;
    }
    return result;
}

}  // namespace quern::reference
