// SPDX-License-Identifier: Apache-2.0
// The stage of every build: a corpus becomes the documents, links, words and tokens of a store. One pass over the
// corpus, then the links, then the merge of the words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/store_build/reading.hpp"

namespace quern {

struct index_outcome {
    store_info info;  ///< still without a manifest
    reading_record record;
    std::uint64_t dangling_links = 0, spilled_bytes = 0;
    compared_documents compared;            ///< with the store that is replaced, if the source names it
    std::optional<text_passages> passages;  ///< if there will be a thesaurus, and words are in order
};

/// Writes the sections of an index into `store`. `text`: the options that the store records; its stop words are in the
/// folder. Throws as build does.
index_outcome make_index(const build_options& options, const text_options& text, index_source source,
                         const std::filesystem::path& store, const scratch_folder& scratch,
                         stage_clock& clock, const context& ctx);

/// That an indexed field finds nothing.
void warn_of_field_without_words(std::string_view name, const context& ctx);

}  // namespace quern
