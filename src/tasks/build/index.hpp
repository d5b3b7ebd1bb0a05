// SPDX-License-Identifier: Apache-2.0
// The stage every build has: a corpus becomes the documents, links, words and tokens of a store. One pass over the corpus,
// then the links, then the merge of the words.
#pragma once

#include <cstdint>
#include <filesystem>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/build/reading.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/stage_clock.hpp"

namespace quern {

struct index_outcome {
    store_info info;  ///< without a manifest so far
    reading_record record;
    std::uint64_t dangling_links = 0, spilled_bytes = 0;
};

/// Writes the sections of an index into `store`. `text` is what the store records; its stop words lie in the folder.
/// Throws as build does.
index_outcome make_index(const build_options& options, const text_options& text, index_source source,
                         const std::filesystem::path& store, const scratch_folder& scratch,
                         stage_clock& clock, const context& run);

}  // namespace quern
