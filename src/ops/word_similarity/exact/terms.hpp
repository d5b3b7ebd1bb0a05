// SPDX-License-Identifier: Apache-2.0
// The exact addend of a shared context to the score of two words, for code written once for all measures. `value` is the
// contribution of one entry, term(a, b) the addend of two of them, `sum` what they add up to, score the final step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/spilled_array.hpp"
#include "device/paced_checks.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"

namespace quern::word_similarity_detail {

class lin_terms {
  public:
    using value = std::uint64_t;
    using sum = std::uint64_t;

    lin_terms(cpu_place& place, const fixed_rows& rows)
        : sums_(rows.sums), values_(place, rows.weights.size(), "weights in fixed point", for_bounds(place)) {
        const fixed_scale fixed(rows.bits);
        const std::size_t pieces = pieces_for(place, rows.weights.size(), std::size_t{1} << 16);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const item_range part = piece_of(rows.weights.size(), pieces, p);
            in_checked_parts(place.ctx(), part.begin, part.end, neighbouring_values,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 for (std::uint64_t i = begin; i < end; ++i)
                                     values_.data()[i] = fixed(rows.weights[i]);
                             });
        });
    }

    /// Of every entry, in the order of the rows.
    std::span<const value> values() const { return values_.span(); }
    static std::uint64_t term(value a, value b) { return a + b; }
    double score(std::uint64_t shared, std::size_t a, std::size_t b) const {
        return lin_score(shared, sums_[a], sums_[b]);
    }

  private:
    /// Most of the work uses bounds, which are made later: their memory has priority.
    static std::uint64_t for_bounds(cpu_place& place) { return place.memory().limit() / 4 * 3; }

    std::span<const std::uint64_t> sums_;
    spilled_array<value> values_;
};

/// The same without memory for an entry: for few pairs.
class lin_terms_of_weights {
  public:
    using value = float;
    using sum = std::uint64_t;

    explicit lin_terms_of_weights(const fixed_rows& rows)
        : sums_(rows.sums), values_(rows.weights), fixed_(rows.bits) {}

    std::span<const value> values() const { return values_; }
    std::uint64_t term(value a, value b) const { return fixed_(a) + fixed_(b); }
    double score(std::uint64_t shared, std::size_t a, std::size_t b) const {
        return lin_score(shared, sums_[a], sums_[b]);
    }

  private:
    std::span<const std::uint64_t> sums_;
    std::span<const value> values_;
    fixed_scale fixed_;
};

class cosine_terms {
  public:
    using value = float;
    using sum = std::uint64_t;

    cosine_terms(cpu_place& /*place*/, const fixed_rows& rows)
        : squares_(rows.squares), values_(rows.weights), fixed_(rows.product_bits) {}

    std::span<const value> values() const { return values_; }
    std::uint64_t term(value a, value b) const { return fixed_(static_cast<double>(a) * b); }
    double score(std::uint64_t dot, std::size_t a, std::size_t b) const {
        return cosine_score(dot, squares_[a], squares_[b]);
    }

  private:
    std::span<const std::uint64_t> squares_;
    std::span<const float> values_;
    fixed_scale fixed_;
};

/// work(terms), with those of the measure.
template <class Work>
auto with_terms(cpu_place& place, const fixed_rows& rows, similarity_measure measure, const Work& work) {
    if (measure == similarity_measure::lin) return work(lin_terms(place, rows));
    return work(cosine_terms(place, rows));
}

/// Σ of terms over the columns that rows a and b share: a merge of the two.
template <class Terms>
typename Terms::sum merge_rows(const fixed_rows& rows, const Terms& terms, std::size_t a, std::size_t b) {
    const auto* values = terms.values().data();
    const std::uint32_t* columns = rows.columns.data();
    typename Terms::sum shared{};
    std::uint64_t x = rows.offsets[a], y = rows.offsets[b];
    const std::uint64_t end_x = rows.offsets[a + 1], end_y = rows.offsets[b + 1];
    while (x < end_x && y < end_y) {
        const std::uint32_t in_a = columns[x], in_b = columns[y];
        if (in_a == in_b) shared += terms.term(values[x], values[y]);
        x += in_a <= in_b;
        y += in_b <= in_a;
    }
    return shared;
}

/// The transposed rows: for every column the words that have it, ascending, with their values.
template <class Value>
class inverted_rows {
  public:
    inverted_rows(cpu_place& place, const fixed_rows& rows, std::span<const Value> values)
        : offsets_(std::size_t{rows.column_count} + 1),
          words_(place, values.size(), "words of columns"),
          values_(place, values.size(), "values of columns") {
        in_checked_parts(place.ctx(), 0, rows.columns.size(), neighbouring_values,
                         [&](std::uint64_t begin, std::uint64_t end) {
                             for (std::uint64_t i = begin; i < end; ++i) ++offsets_[rows.columns[i] + 1];
                         });
        for (std::size_t c = 0; c < rows.column_count; ++c) offsets_[c + 1] += offsets_[c];
        std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
        paced_checks checks(place.ctx(), scattered_values);
        for (std::uint32_t w = 0; w < rows.words; ++w)
            for (std::uint64_t i = rows.offsets[w]; i < rows.offsets[w + 1]; ++i) {
                checks.after(1);
                const std::uint64_t at = next[rows.columns[i]]++;
                words_.data()[at] = w;
                values_.data()[at] = values[i];
            }
    }

    std::span<const std::uint32_t> words(std::size_t column) const {
        return {words_.data() + offsets_[column], offsets_[column + 1] - offsets_[column]};
    }
    const Value* values(std::size_t column) const { return values_.data() + offsets_[column]; }

  private:
    std::vector<std::uint64_t> offsets_;
    spilled_array<std::uint32_t> words_;
    spilled_array<Value> values_;
};

/// Adds to shared[b] the sum of the terms of words a and b, for every b including a.
template <class Terms>
void add_shared(const context& ctx, const fixed_rows& rows,
                const inverted_rows<typename Terms::value>& columns, const Terms& terms, std::size_t a,
                std::span<typename Terms::sum> shared) {
    paced_checks checks(ctx, neighbouring_values);
    for (std::uint64_t i = rows.offsets[a]; i < rows.offsets[a + 1]; ++i) {
        const auto mine = terms.values()[i];
        const auto words = columns.words(rows.columns[i]);
        const auto* const values = columns.values(rows.columns[i]);
        checks.after(words.size() + neighbouring_values / scattered_values);
        for (std::size_t k = 0; k < words.size(); ++k) shared[words[k]] += terms.term(mine, values[k]);
    }
}

}  // namespace quern::word_similarity_detail
