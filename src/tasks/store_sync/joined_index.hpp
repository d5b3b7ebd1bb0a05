// SPDX-License-Identifier: Apache-2.0
// The index of a store that replaces another one: what that has of unchanged documents, joined with an index of the others.
#pragma once

#include <filesystem>
#include <span>

#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/store/document_duplicates.hpp"
#include "tasks/store_build/document_spool.hpp"
#include "tasks/store_build/duplicates.hpp"
#include "tasks/store_build/index.hpp"
#include "tasks/store_sync/unchanged_documents.hpp"

namespace quern {

/// The documents of the new store.
struct joined_documents {
    const document_spool& read;
    std::span<const excluded_document> excluded;
    const document_duplicates& duplicates;
    const unchanged_documents& unchanged;  ///< one at least; all are texts
    const store_to_update* old = nullptr;  ///< of an update: whose documents come first
};

/// As make_index, with the same bytes: writes the sections of an index into `store`. Only the texts of changed documents are
/// split into words; they become a small store in the scratch folder, whose sections are joined with those of the store in `old`,
/// document by document in the order of the new store. `old`: made by the same version of the program, with the options of
/// this build. Throws damaged_store too, if `old` is damaged. Cost: an index of the changed documents; each posting is decoded and
/// coded once, each word of a text gets its new code, texts are copied.
index_outcome join_index(const build_options& options, const text_options& text,
                         const joined_documents& documents, const std::filesystem::path& old,
                         const std::filesystem::path& store, stage_clock& clock, const context& ctx);

}  // namespace quern
