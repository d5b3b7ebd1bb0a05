// SPDX-License-Identifier: Apache-2.0
// Transfers ranges of the matrix's rows to the device.
#pragma once

#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "device/cuda/cuda_place.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"
#include "ops/word_similarity/exact/pair_scores.cuh"

namespace quern::word_similarity_detail {

/// Words [first, first + count) of the matrix on the device.
class row_group {
  public:
    row_group() = default;
    row_group(cuda_place& place, const fixed_rows& rows, std::uint32_t first, std::uint32_t count)
        : first_(first), count_(count) {
        const std::uint64_t begin = rows.offsets[first], entries = rows.offsets[first + count] - begin;
        std::vector<std::uint64_t> offsets(std::size_t{count} + 1);
        for (std::size_t i = 0; i <= count; ++i) offsets[i] = rows.offsets[first + i] - begin;
        offsets_ = array_from<cuda_place, std::uint64_t>(place, offsets, "rows of contexts");
        columns_ = array_from(place, rows.columns.subspan(begin, entries), "rows of contexts");
        weights_ = array_from(place, rows.weights.subspan(begin, entries), "rows of contexts");
    }
    device_rows view() const { return {offsets_.data(), columns_.data(), weights_.data(), first_, count_}; }

  private:
    std::uint32_t first_ = 0, count_ = 0;
    cuda_array<std::uint64_t> offsets_;
    cuda_array<std::uint32_t> columns_;
    cuda_array<float> weights_;
};

/// Some words of `rows`.
inline device_rows some_rows(device_rows rows, std::uint32_t first, std::uint32_t count) {
    return {rows.offsets + (first - rows.first), rows.columns, rows.weights, first, count};
}

/// [first, end) in ranges of at most that many words and entries, with words as even as possible; at least one word in
/// each.
inline std::vector<word_range> cut_words(const fixed_rows& rows, word_range whole, std::uint64_t max_words,
                                         std::uint64_t entries) {
    const std::uint64_t parts = (whole.count + max_words - 1) / max_words;
    const std::uint64_t even = (whole.count + parts - 1) / parts;
    std::vector<word_range> cut;
    for (std::uint32_t first = whole.first, end = whole.first + whole.count; first < end;) {
        std::uint32_t count = 1;
        while (first + count < end && count < even &&
               rows.offsets[first + count + 1] - rows.offsets[first] <= entries)
            ++count;
        cut.push_back({first, count});
        first += count;
    }
    return cut;
}

/// Ranges of rows on the device: all at once if they take at most `memory` bytes, otherwise on demand, two at a time.
class row_groups {
  public:
    row_groups(cuda_place& place, const fixed_rows& rows, std::vector<word_range> cut, std::uint64_t memory)
        : place_(&place), rows_(&rows), cut_(std::move(cut)), groups_(cut_.size()) {
        keep_all_ = rows.columns.size() * 8 + std::uint64_t{rows.words} * 8 <= memory;
    }
    std::size_t size() const { return cut_.size(); }
    word_range words(std::size_t g) const { return cut_[g]; }
    /// Group g; `extra`: another one that is still needed.
    device_rows get(std::size_t g, std::size_t extra) {
        if (!groups_[g].present) {
            if (!keep_all_)
                for (std::size_t other = 0; other < groups_.size(); ++other)
                    if (other != extra) groups_[other] = {};
            groups_[g] = {true, row_group(*place_, *rows_, cut_[g].first, cut_[g].count)};
        }
        return groups_[g].rows.view();
    }

  private:
    struct held {
        bool present = false;
        row_group rows;
    };
    cuda_place* place_;
    const fixed_rows* rows_;
    std::vector<word_range> cut_;
    std::vector<held> groups_;
    bool keep_all_ = false;
};

}  // namespace quern::word_similarity_detail
