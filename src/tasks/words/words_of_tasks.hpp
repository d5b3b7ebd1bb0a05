// SPDX-License-Identifier: Apache-2.0
// The results of a job's tasks for words. Those of the first task:
//
//   matrix      words, relations, entries, co-occurrences, triples, ends of the rows, counts of the contexts
//   columns, weights   the entries, by rows
//   rows, row-columns, row-weights, row-values   what the other tasks read: the rows with their bounds (shared_search.hpp)
//
// and of each:
//
//   neighbours  ends of the lists, words, scores
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/files/mapped_file.hpp"
#include "ops/word_similarity/bounds/shared_search.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {

void write_weights(const context_matrix_view& matrix, const counting_record& record, task_results& results);
/// Four results.
void write_shared_rows(const word_similarity_detail::shared_rows& rows, task_results& results);
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

/// The rows that the first task of a job wrote.
class shared_rows_of_job {
  public:
    /// The names of their results, for job_files::reads.
    static constexpr std::string_view results = "rows row-columns row-weights row-values";
    /// Throws io_error, damaged_store.
    explicit shared_rows_of_job(const std::filesystem::path& job);

    const word_similarity_detail::shared_rows& rows() const { return rows_; }

  private:
    io::mapped_file file_, columns_, weights_, values_;
    word_similarity_detail::shared_rows rows_;
};

/// The `top` best neighbours of each of `words` words, of the lists of all tasks: as similar_words() passes them on. Throws io_error,
/// damaged_store, interrupted, and what `sink` throws.
neighbour_lists merge_neighbours(const std::filesystem::path& job, std::uint32_t words, std::uint32_t top,
                                 const context& ctx, const neighbour_sink& sink);

}  // namespace quern
