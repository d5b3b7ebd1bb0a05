// SPDX-License-Identifier: Apache-2.0
// Rows of a matrix that threads make out of order, and the resulting matrix. Each thread appends rows to its own lane;
// ranges of words (pieces) record the positions of their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "device/files/spilled_array.hpp"
#include "ops/word_similarity/counting/context_counter.hpp"

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

}  // namespace quern::word_similarity_detail
