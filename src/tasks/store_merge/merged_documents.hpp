// SPDX-License-Identifier: Apache-2.0
// The documents of several stores as those of one: ids, titles, lengths, texts, fields and links.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store_build/duplicates.hpp"
#include "tasks/store_merge/source_stores.hpp"

namespace quern {

struct merged_documents {
    std::vector<store_section> sections;
    std::uint64_t words = 0;
    std::vector<std::uint32_t> lengths;  ///< in words
    std::uint64_t links = 0, dangling_links = 0;
    std::vector<field_info> fields;
    std::uint64_t frames = 0, copied_frames = 0;  ///< blocks of texts and fields; copied as they are
};

/// Writes the sections of the documents of `stores`, without those excluded, into `store`, as a build does. `excluded`: by
/// position; links to them lead to the kept ones. `stores` have their numbers already. Blocks of texts whose documents are
/// those of a block in a store are copied as they are: after the first few blocks of a store most are. Throws
/// damaged_store, io_error, out_of_memory, interrupted. Memory: 4 bytes a document, and the table of ids.
merged_documents merge_documents(const source_stores& stores, std::span<const excluded_document> excluded,
                                 const std::filesystem::path& store, const scratch_folder& scratch,
                                 const context& ctx);

}  // namespace quern
