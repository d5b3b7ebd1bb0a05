// SPDX-License-Identifier: Apache-2.0
// The rows turned round: for every column the words that have it, rising, with their values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "ops/word_similarity/fixed_rows.hpp"

namespace quern::word_similarity_detail {

template <class Value>
class inverted_rows {
  public:
    inverted_rows(cpu_place& place, const fixed_rows& rows, std::span<const Value> values)
        : offsets_(std::size_t{rows.column_count} + 1),
          words_(place, values.size(), "words of columns"),
          values_(place, values.size(), "values of columns") {
        for (const std::uint32_t column : rows.columns) ++offsets_[column + 1];
        for (std::size_t c = 0; c < rows.column_count; ++c) offsets_[c + 1] += offsets_[c];
        std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
        for (std::uint32_t w = 0; w < rows.words; ++w)
            for (std::uint64_t i = rows.offsets[w]; i < rows.offsets[w + 1]; ++i) {
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
    cpu_array<std::uint32_t> words_;
    cpu_array<Value> values_;
};

/// Adds to shared[b] what word a shares with every word b, itself included.
template <class Terms>
void add_shared(const fixed_rows& rows, const inverted_rows<typename Terms::value>& columns,
                const Terms& terms, std::size_t a, std::span<std::uint64_t> shared) {
    for (std::uint64_t i = rows.offsets[a]; i < rows.offsets[a + 1]; ++i) {
        const auto mine = terms.values()[i];
        const auto words = columns.words(rows.columns[i]);
        const auto* const values = columns.values(rows.columns[i]);
        for (std::size_t k = 0; k < words.size(); ++k) shared[words[k]] += terms.term(mine, values[k]);
    }
}

}  // namespace quern::word_similarity_detail
