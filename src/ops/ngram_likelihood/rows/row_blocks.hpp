// SPDX-License-Identifier: Apache-2.0
// Transfers rows from a place to the sink: written there one block at a time, column after column, so that one transfer
// copies a block to the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "device/array.hpp"
#include "ops/ngram_likelihood/levels/occurrences.hpp"
#include "ops/ngram_likelihood/papers/counting_kernels.hpp"

namespace quern::ngram_detail {

/// Blocks of 64-bit words made on a place, in transfer to the host: at most `depth` of them.
///
///     make(pipe.open()); pipe.send(words); … use(pipe.receive());    // receive(): the oldest sent block
template <class Place>
class block_pipe;  // CUDA's: block_pipe.cuh
template <>
class block_pipe<cpu_place> {
  public:
    static constexpr std::size_t depth = 1;
    block_pipe(cpu_place& place, std::uint64_t words) : block_(place, words, "rows of n-grams") {}
    std::uint64_t* open() { return block_.data(); }
    void send(std::uint64_t) {}
    std::uint64_t* receive() { return block_.data(); }

  private:
    cpu_array<std::uint64_t> block_;
};

template <class Place>
class row_blocks {
    /// Long enough for the bus, short enough to stay in the host's cache.
    static constexpr std::uint64_t max_rows = std::uint64_t{1} << 18;

  public:
    /// The maximum memory of blocks on the place, if that much is left.
    static std::uint64_t bytes_for(bool histories, std::uint64_t memory_left) {
        return block_pipe<Place>::depth * rows_for(histories, memory_left) * bytes_of_row(histories);
    }

    row_blocks(Place& place, bool histories, std::uint64_t rows,
               const std::function<void(const ngram_rows&)>& sink)
        : place_(place),
          histories_(histories),
          block_rows_(std::min(even(rows), rows_for(histories, place.memory().left()))),
          pipe_(place, block_rows_ * bytes_of_row(histories) / 8),
          take_(sink) {}

    /// Outputs the rows 0 … rows - 1 of one n. step(columns, first) is a step whose item i writes row first + i to row i of
    /// the columns.
    template <class Step>
    void give(unsigned n, std::uint64_t rows, const Step& step) {
        std::uint64_t sent = 0, taken = 0;
        const auto size_from = [&](std::uint64_t first) { return std::min(block_rows_, rows - first); };
        while (taken < rows) {
            if (sent < rows && sent - taken < block_pipe<Place>::depth * block_rows_) {
                const std::uint64_t count = size_from(sent);
                for_each_item(place_, count, step(columns(pipe_.open(), count), sent));
                pipe_.send(even(count) * bytes_of_row(histories_) / 8);
                sent += count;
                continue;
            }
            const std::uint64_t count = size_from(taken);
            const row_columns at = columns(pipe_.receive(), count);
            const std::size_t with_history = histories_ ? count : 0;
            take_({n,
                   {at.documents, count},
                   {at.firsts, count},
                   {at.in_document, count},
                   {at.in_collection, count},
                   {at.weights, count},
                   {at.history_in_document, with_history},
                   {at.history_in_collection, with_history}});
            taken += count;
        }
    }

  private:
    static std::uint64_t bytes_of_row(bool histories) { return histories ? 40 : 28; }
    static std::uint64_t even(std::uint64_t rows) { return (rows + 1) / 2 * 2; }
    static std::uint64_t rows_for(bool histories, std::uint64_t memory_left) {
        return std::clamp<std::uint64_t>(memory_left / 16 / bytes_of_row(histories) / 2 * 2, 64, max_rows);
    }

    /// The columns of a block of `rows` rows; those of 64 bits first.
    row_columns columns(std::uint64_t* memory, std::uint64_t rows) const {
        const std::uint64_t each = even(rows);
        row_columns to{};
        to.in_collection = memory;
        to.weights = reinterpret_cast<double*>(memory + each);
        std::uint64_t* after = memory + 2 * each;
        if (histories_) {
            to.history_in_collection = after;
            after += each;
        }
        to.documents = reinterpret_cast<std::uint32_t*>(after);
        to.firsts = to.documents + each;
        to.in_document = to.firsts + each;
        if (histories_) to.history_in_document = to.in_document + each;
        return to;
    }

    Place& place_;
    bool histories_;
    std::uint64_t block_rows_;
    block_pipe<Place> pipe_;
    const std::function<void(const ngram_rows&)>& take_;
};

}  // namespace quern::ngram_detail
