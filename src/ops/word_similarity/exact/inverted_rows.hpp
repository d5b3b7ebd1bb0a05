// SPDX-License-Identifier: Apache-2.0
// The rows turned round: for every column the words that have it, rising, with their values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/files/spilled_array.hpp"
#include "device/paced_checks.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"

namespace quern::word_similarity_detail {

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

/// Adds to shared[b] what word a shares with every word b, itself included.
template <class Terms>
void add_shared(const context& ctx, const fixed_rows& rows,
                const inverted_rows<typename Terms::value>& columns, const Terms& terms, std::size_t a,
                std::span<std::uint64_t> shared) {
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
