// SPDX-License-Identifier: Apache-2.0
// Near-duplicates among the documents of several stores.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "tasks/store_build/duplicates.hpp"
#include "tasks/store_merge/merged_words.hpp"
#include "tasks/store_merge/source_stores.hpp"

namespace quern {

/// As leave_out_duplicates, for the documents of all stores. If the first store was built with this stage, its documents and
/// near-duplicates stay, and are not compared with each other again: the rule is decided document by document, so that a build
/// of all documents decides the same. Other stores must have no near-duplicates. Throws invalid_input too, if a document does
/// not fit the memory.
duplicates_outcome leave_out_stored_duplicates(const source_stores& stores,
                                               const std::filesystem::path& store,
                                               const scratch_folder& scratch, const context& ctx);

/// The words of the titles of the near-duplicates found, by word, then by the kept document: not of those that the first
/// store has already, nor of documents without words. `lengths`: of the documents of the result. Throws out_of_memory beyond
/// an eighth of the budget.
std::vector<added_word> title_words_of_duplicates(const source_stores& stores,
                                                  const duplicates_outcome& found,
                                                  std::span<const std::uint32_t> lengths,
                                                  const std::filesystem::path& store, const context& ctx);

}  // namespace quern
