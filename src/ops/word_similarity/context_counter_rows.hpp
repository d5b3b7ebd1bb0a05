// SPDX-License-Identifier: Apache-2.0
// Rows of a matrix that threads make out of order, and the matrix they come to. A thread appends rows to a lane of
// its own; stretches of words (pieces) remember where theirs lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "ops/word_similarity/context_counter.hpp"

namespace quern::word_similarity_detail {

/// Entries that lie together in a lane.
struct row_stretch {
    const std::uint32_t* columns;
    const float* weights;
    std::size_t size;
};
/// The rows of words that follow each other.
using row_piece = std::vector<row_stretch>;

/// Entries as one thread makes them.
class row_lane {
  public:
    explicit row_lane(cpu_place& host) : host_(host) {}

    /// Room for that many entries at columns() and weights().
    void make_room(std::size_t entries);
    std::uint32_t* columns() const { return columns_.back().data() + used_; }
    float* weights() const { return weights_.back().data() + used_; }
    /// The first so many of them are the next of the piece.
    void keep(std::size_t entries, row_piece& piece);

    void forget_columns() { columns_.clear(); }
    void forget_weights() { weights_.clear(); }

  private:
    cpu_place& host_;
    std::vector<cpu_array<std::uint32_t>> columns_;
    std::vector<cpu_array<float>> weights_;
    std::size_t used_ = 0, capacity_ = 0;
};

/// Puts the pieces together in their order. matrix.offsets[w + 1] holds the entries of word w, and becomes an offset. The
/// lanes are empty then. The matrix lies outside of the host's budget, but must fit there.
void gather_rows(cpu_place& host, std::vector<row_lane>& lanes, const std::vector<row_piece>& pieces,
                 context_matrix& matrix);

/// Makes room for that many entries, both columns and weights, faulted in by all threads; they must fit into the budget.
void resize_rows(cpu_place& host, context_matrix& matrix, std::size_t entries);

}  // namespace quern::word_similarity_detail
