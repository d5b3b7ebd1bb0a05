// SPDX-License-Identifier: Apache-2.0
// The n-grams that a task counted in a part of a corpus, as its results, and the merge of those of all tasks:
//
//   ngrams-N   of each n-gram of N words, in order, the position among those words and the count
//   words      the number of documents of the inputs, and of words that marks excluded; the words that the task has (words_in_document);
//              of each length the totals and the number of blocks of ngrams-N, of ngrams_of_block n-grams each, with their bytes
//
// All numbers are variable-length integers. What is merged has positions in the words of the whole corpus, so that it is what
// counting the whole gives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/ngram_likelihood.hpp"
#include "quern/tasks/cluster.hpp"
#include "tasks/ngrams/collection_counts.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"

namespace quern {

/// `totals`: of the lengths of `counts`.
void write_part_counts(const ngram_corpus& part, collection_counts& counts,
                       std::span<const ngram_totals> totals, task_results& results, const context& ctx);

/// Adds to `counts` the n-grams that the tasks of `job` counted; with the totals they are those of count_collection_ngrams() for `corpus`.
/// Throws usage_error if the tasks had other documents or other words, damaged_store, io_error, interrupted.
std::vector<ngram_totals> merge_part_counts(const std::filesystem::path& job, const ngram_corpus& corpus,
                                            const ngram_options& options, const context& ctx,
                                            collection_counts& counts);

}  // namespace quern
