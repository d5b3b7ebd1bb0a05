// SPDX-License-Identifier: Apache-2.0
// The documents with which new ones are compared: a corpus, a store of build, or one of dedup.
#pragma once

#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/tasks/dedup.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/word_table.hpp"

namespace quern {

/// Fills an empty table with the sets of `options.against`, in order, and `words` if it is not null; documents added
/// later may repeat their ids. Adds issues of reading a corpus to `issues`. Throws as dedup does.
void read_old_documents(const dedup_options& options, const scratch_folder& scratch, document_table& table,
                        word_table* words, std::vector<input_issue>& issues, const context& ctx);

}  // namespace quern
