// SPDX-License-Identifier: Apache-2.0
// The columns of the kept fields: their types are known once all documents are read, so they are made from the sections
// with the documents' JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// Writes the sections of the columns and returns them. `sections`: of the store so far. One pass over the JSON for each
/// 64 fields; memory for a few blocks of documents, strings go to the disk at once. The same bytes for any threads.
std::vector<store_section> make_field_columns(const std::filesystem::path& store,
                                              const std::vector<store_section>& sections,
                                              const std::vector<field_info>& fields, std::uint64_t documents,
                                              const scratch_folder& scratch, const context& ctx);

}  // namespace quern
