// SPDX-License-Identifier: Apache-2.0
// Documents as words in blocks, as results of a task, for the method that compares sets of shingles:
//
//   texts      for each document its number of words and its position (as of texts, none of which has an equal one)
//   block-NNNN the documents of a block: their number, the position of the first, the vocabulary, ends in words, and their words
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {

/// Writes `texts` and the blocks: consecutive documents, of about equal numbers of words.
void write_word_blocks(const word_list& documents, std::uint32_t vocabulary, std::uint64_t blocks,
                       task_results& results, const context& ctx);

/// All pairs of a document of one block and one of the other, or of two documents of one: by positions, the smaller first. Throws
/// io_error, damaged_store; as near_duplicates().
std::vector<duplicate_pair> compare_word_blocks(const std::filesystem::path& first,
                                                const std::filesystem::path& second,
                                                const duplicate_options& options, const context& ctx);

}  // namespace quern
