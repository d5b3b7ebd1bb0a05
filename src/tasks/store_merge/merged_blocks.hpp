// SPDX-License-Identifier: Apache-2.0
// Texts in compressed blocks, of several stores as those of one. Which documents a block has follows from the lengths of the
// texts alone. A block that has the documents of one in a store has its bytes, too, and is copied; others are compressed anew.
// The last block of a store is seldom full, so that the first blocks of the next one begin elsewhere; but a block ends with the
// document that fills it, and soon one ends where a block of the store does: all that follow are copies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/field_values.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store_build/text_store.hpp"
#include "tasks/store_merge/source_stores.hpp"

namespace quern {

/// The sections of a kind of blocks, and where a block ends.
struct block_names {
    std::string_view frames, blocks, ends;
    std::uint64_t max_documents = std::numeric_limits<std::uint64_t>::max();  ///< of a block
};
inline constexpr block_names blocks_of_texts = {store_layout::texts, store_layout::text_blocks,
                                                store_layout::text_ends};
inline constexpr block_names blocks_of_fields = {store_layout::fields, store_layout::field_blocks,
                                                 store_layout::field_ends, max_documents_of_field_block};

struct merged_blocks {
    std::vector<store_section> sections;
    std::uint64_t frames = 0, copied = 0;
};

/// Writes the three sections into `store`. The text of each document that stays is added to `census`, if there is one: then
/// every block is decompressed. All threads. Throws damaged_store, io_error, interrupted. Memory: pieces of about 1 MiB for each
/// thread, and one larger document at a time.
merged_blocks merge_blocks(const source_stores& stores, const block_names& names, std::string_view stage,
                           field_census* census, const std::filesystem::path& store, const context& ctx);

}  // namespace quern
