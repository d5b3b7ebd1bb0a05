// SPDX-License-Identifier: Apache-2.0
// The documents that new ones are compared with: a corpus, a store of build, or one of dedup.
#pragma once

#include <filesystem>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/dedup.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/word_table.hpp"

namespace quern {

/// Fills an empty table, and `words` where it is not null. A corpus' own reading errors go to `record`. Throws as
/// dedup does.
void read_old_documents(const std::filesystem::path& against, const dedup_options& options,
                        const scratch_folder& scratch, document_table& table, word_table* words,
                        reading_record& record, const context& run);

}  // namespace quern
