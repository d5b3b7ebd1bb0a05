// SPDX-License-Identifier: Apache-2.0
// Rows of a matrix that threads make out of order, and the resulting matrix. Each thread appends rows to its own lane;
// ranges of words (pieces) record the positions of their rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/spilled_array.hpp"
#include "ops/word_similarity/counting/context_counter.hpp"
#include "ops/word_similarity/counting/pmi.hpp"

namespace quern::word_similarity_detail {

/// Consecutive entries in a lane.
struct row_range {
    const std::uint32_t* columns;
    const float* weights;
    std::size_t size;
};
/// The rows of consecutive words.
using row_piece = std::vector<row_range>;

/// The entries made by one thread.
class row_lane {
  public:
    explicit row_lane(cpu_place& host) : host_(host) {}

    /// Allocates that many entries at columns() and weights().
    void make_room(std::size_t entries);
    std::uint32_t* columns() const { return columns_.back().data() + used_; }
    float* weights() const { return weights_.back().data() + used_; }
    /// Makes the first of them the next ones of the piece.
    void keep(std::size_t entries, row_piece& piece);

    void forget_columns() { columns_.clear(); }
    void forget_weights() { weights_.clear(); }

  private:
    cpu_place& host_;
    std::vector<spilled_array<std::uint32_t>> columns_;
    std::vector<spilled_array<float>> weights_;
    std::size_t used_ = 0, capacity_ = 0;
};

/// Concatenates the pieces in order. matrix.offsets[w + 1] holds the number of entries of word w, and becomes an offset.
/// The lanes are empty afterwards. The matrix does not count towards the host's budget, but must fit it.
void gather_rows(cpu_place& host, std::vector<row_lane>& lanes, const std::vector<row_piece>& pieces,
                 context_matrix& matrix);

/// The same; entries go to `take`, if it is given, instead of the matrix.
void gather_rows(cpu_place& host, std::vector<row_lane>& lanes, const std::vector<row_piece>& pieces,
                 context_matrix& matrix, const context_counter::entry_sink* take);

/// Allocates that many entries, columns and weights, faulted in by all threads; they must fit the budget.
void resize_rows(cpu_place& host, context_matrix& matrix, std::size_t entries);

// One row while it is counted: a counter for each word, and the counts taken from them.

/// A counter for each word, including the unknown one, and the counts taken from them.
template <class Count>
class row_counters {
  public:
    row_counters(cpu_place& host, std::size_t words)
        : groups_((words / group + 1 + 7) / 8 * 8),
          counters_(host, (words / counter_block + 1) * counter_block, "counters of a row"),
          flags_(host, groups_ * (blocks_in_group + 1), "counters of a row"),
          columns_(host, words + taken_margin, "counts of a row"),
          counts_(host, words + taken_margin, "counts of a row") {
        std::fill_n(counters_.data(), counters_.size(), Count{0});
        std::fill_n(flags_.data(), flags_.size(), std::uint8_t{0});
    }

    void add(std::uint32_t column, Count count = 1) {
        counters_.data()[column] += count;
        flags_.data()[groups_ + column / counter_block] = 1;
        flags_.data()[column / group] = 1;
    }
    void clear(std::uint32_t column) { counters_.data()[column] = 0; }

    /// Takes the counts: columns() and counts() return them.
    void take() {
        taken_ = take_counts({flags_.data() + groups_, flags_.data(), groups_}, counters_.data(),
                             columns_.data(), counts_.data());
    }
    std::span<const std::uint32_t> columns() const { return {columns_.data(), taken_}; }
    const Count* counts() const { return counts_.data(); }

  private:
    static constexpr std::size_t group = counter_block * blocks_in_group;

    std::size_t groups_;
    cpu_array<Count> counters_;
    cpu_array<std::uint8_t> flags_;  ///< of groups, then of blocks
    cpu_array<std::uint32_t> columns_;
    cpu_array<Count> counts_;
    std::size_t taken_ = 0;
};

/// Weighs the counts taken from a row, and appends them to the piece.
template <class Count>
std::size_t pmi_taken(const pmi_formula& by, std::uint32_t word, std::uint32_t relation,
                      const row_counters<Count>& counters, row_lane& lane, row_piece& piece) {
    const auto columns = counters.columns();
    if (columns.empty()) return 0;
    lane.make_room(columns.size());
    const std::size_t kept =
        by.pmi(word, relation, columns, counters.counts(), lane.columns(), lane.weights());
    lane.keep(kept, piece);
    return kept;
}

/// work(worker, p) for every p below `pieces`: any free one of so many workers takes the next.
template <class Work>
void for_each_taken(cpu_place& host, std::size_t workers, std::size_t pieces, const Work& work) {
    std::atomic<std::size_t> next{0};
    for_each_piece(host, std::min(workers, pieces), [&](std::size_t thread) {
        for (std::size_t p = next++; p < pieces; p = next++) {
            host.ctx().check_stop();
            work(thread, p);
        }
    });
}

/// As many workers as threads will take pieces; fewer where that many would leave less than a quarter of the free memory.
/// Throws out_of_memory when there is no room for one.
template <class Worker, class Make>
std::vector<Worker> one_per_thread(cpu_place& host, std::size_t pieces, const Make& make) {
    std::vector<Worker> made;
    const std::uint64_t free = host.memory().left(), min_free = free / 4;
    for (std::size_t t = 0; t < std::min<std::size_t>(host.threads(), pieces); ++t) {
        const std::uint64_t left = host.memory().left(), of_each = t == 0 ? 0 : (free - left) / t;
        if (t != 0 && left < min_free + of_each) break;
        made.push_back(make());
    }
    return made;
}

}  // namespace quern::word_similarity_detail
