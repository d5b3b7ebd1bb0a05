// SPDX-License-Identifier: Apache-2.0
// The results of a job's tasks for words:
//
//   matrix      of the first task: words, relations, entries, co-occurrences, triples, ends of the rows, counts of the contexts
//   columns, weights   the entries, by rows
//   neighbours  of the others: ends of the lists, words, scores
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "io/files/mapped_file.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {

void write_weights(const context_matrix_view& matrix, const counting_record& record, task_results& results);
void write_neighbours(const neighbour_lists& lists, task_results& results);

/// The weights that the first task of a job wrote.
class weights_of_job {
  public:
    /// Throws io_error, damaged_store.
    explicit weights_of_job(const std::filesystem::path& job);

    const context_matrix_view& view() const { return view_; }
    const counting_record& record() const { return record_; }

  private:
    io::mapped_file matrix_, columns_, weights_;
    context_matrix_view view_;
    counting_record record_;
};

/// The `top` best neighbours of each of `words` words, of the lists of all tasks: as similar_words() passes them on. Throws io_error,
/// damaged_store, interrupted, and what `sink` throws.
neighbour_lists merge_neighbours(const std::filesystem::path& job, std::uint32_t words, std::uint32_t top,
                                 const context& ctx, const neighbour_sink& sink);

}  // namespace quern
