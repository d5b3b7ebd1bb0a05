// SPDX-License-Identifier: Apache-2.0
// How the tasks of a job share the documents of a corpus: each has some inputs that follow each other, or, of a larger input, a
// part of its documents, for which it reads the whole input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"
#include "quern/tasks/corpus_input.hpp"

namespace quern {

struct corpus_shard {
    std::size_t first = 0, end = 0;  ///< of the inputs
    std::uint64_t part = 0, parts = 1;
};

/// About `shards` tasks of this kind, of equal size in bytes, in the order of the inputs and their parts. Every file of the corpus is
/// read, for its checksum, and each of `more`, on which all tasks depend. Throws usage_error for standard input and for a file that is
/// none; io_error, interrupted.
std::vector<job_task> tasks_of_corpus(const corpus_input& corpus, const std::string& kind,
                                      const std::vector<std::filesystem::path>& more, unsigned shards,
                                      const context& ctx);

/// What one of these tasks reads. Throws usage_error if the inputs are not those of the plan.
corpus_shard shard_of(const corpus_input& corpus, const std::vector<std::filesystem::path>& more,
                      const task_file& file);

/// The files of the inputs, as they are opened, in order.
std::vector<std::filesystem::path> files_of(const corpus_input& corpus);

/// `inputs` of that shard.
std::vector<std::filesystem::path> inputs_of_shard(const corpus_input& corpus, const corpus_shard& shard);

}  // namespace quern
