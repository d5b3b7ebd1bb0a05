// SPDX-License-Identifier: Apache-2.0
// Rows on their way from a place to the taker: written there a block at a time, column behind column, so that one transfer
// brings a block to the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "device/array.hpp"
#include "ops/ngram_likelihood/items.hpp"
#include "ops/ngram_likelihood/steps.hpp"

namespace quern::ngram_detail {

template <class Place>
class row_blocks {
    /// Rows of a block: a transfer long enough for the bus, and memory that stays at hand on the host.
    static constexpr std::uint64_t most_rows = std::uint64_t{1} << 20;

  public:
    /// What a block takes on the place, at most, where so much memory is left.
    static std::uint64_t bytes_for(bool histories, std::uint64_t memory_left) {
        return std::clamp<std::uint64_t>(memory_left / 16 / bytes_of_row(histories), 64, most_rows) *
               bytes_of_row(histories);
    }

    row_blocks(Place& place, bool histories, std::uint64_t rows,
               const std::function<void(const ngram_rows&)>& take)
        : place_(place),
          histories_(histories),
          block_rows_(std::min(
              even(rows), bytes_for(histories, place.memory().left()) / bytes_of_row(histories) / 2 * 2)),
          words_(block_rows_ * bytes_of_row(histories) / 8),
          there_(make_array<std::uint64_t>(place, words_, "rows of n-grams")),
          here_(std::make_unique_for_overwrite<std::uint64_t[]>(words_)),
          take_(take) {}

    /// Gives out the rows 0 … rows - 1 of one n. step(columns, first) is a step whose item i writes row first + i to row i of the
    /// columns.
    template <class Step>
    void give(unsigned n, std::uint64_t rows, const Step& step) {
        for (std::uint64_t first = 0; first < rows; first += block_rows_) {
            const std::uint64_t count = std::min(block_rows_, rows - first);
            for_each_item(place_, count, step(columns(there_.data(), count), first));
            const std::uint64_t used = even(count) * bytes_of_row(histories_) / 8;
            copy_out<std::uint64_t>(place_, there_.span().first(used), std::span(here_.get(), used));
            const row_columns at = columns(here_.get(), count);
            const std::size_t with_history = histories_ ? count : 0;
            take_({n,
                   {at.documents, count},
                   {at.firsts, count},
                   {at.in_document, count},
                   {at.in_collection, count},
                   {at.weights, count},
                   {at.history_in_document, with_history},
                   {at.history_in_collection, with_history}});
        }
    }

  private:
    static std::uint64_t bytes_of_row(bool histories) { return histories ? 40 : 28; }
    static std::uint64_t even(std::uint64_t rows) { return (rows + 1) / 2 * 2; }

    /// The columns of a block of `rows` rows; those of 64 bits first.
    row_columns columns(std::uint64_t* memory, std::uint64_t rows) const {
        const std::uint64_t each = even(rows);
        row_columns to{};
        to.in_collection = memory;
        to.weights = reinterpret_cast<double*>(memory + each);
        std::uint64_t* behind = memory + 2 * each;
        if (histories_) {
            to.history_in_collection = behind;
            behind += each;
        }
        to.documents = reinterpret_cast<std::uint32_t*>(behind);
        to.firsts = to.documents + each;
        to.in_document = to.firsts + each;
        if (histories_) to.history_in_document = to.in_document + each;
        return to;
    }

    Place& place_;
    bool histories_;
    std::uint64_t block_rows_, words_;
    array_on<Place, std::uint64_t> there_;
    std::unique_ptr<std::uint64_t[]> here_;
    const std::function<void(const ngram_rows&)>& take_;
};

}  // namespace quern::ngram_detail
