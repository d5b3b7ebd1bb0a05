// SPDX-License-Identifier: Apache-2.0
// The first stage of a build: which documents are excluded from the index as near-duplicates of another one, and the
// sections that record them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store_build/document_spool.hpp"
#include "tasks/store_build/duplicates_log.hpp"

namespace quern {

/// A document that is not indexed.
struct excluded_document {
    std::uint32_t position;  ///< in the corpus
    std::uint32_t kept;      ///< number, in the store, of the document kept instead
};

struct duplicates_outcome {
    std::vector<excluded_document> excluded;      ///< by position
    std::vector<store_section> sections;          ///< none if nothing is excluded
    std::map<std::string, std::uint64_t> counts;  ///< for statistics
};

/// True if a search among `documents` on `threads` threads of the CPU takes less time than a GPU needs to start: about a quarter of
/// a second. By amounts alone, so that a run repeats.
bool is_quick_on_cpu(const document_table& documents, unsigned threads);

/// Excludes each document whose edit rate from an earlier one that stays, in bytes, is below 0.05, as dedup does with its
/// defaults, and writes the sections `duplicates_of`, `copy_ids`, `copy_titles` and `copy_distances` of the others into
/// `store`. Documents without text are all kept. The same bits for any threads, memory and device. Throws as
/// near_duplicates. If the first documents are those of `old`, they stay, each with its near-duplicates: only new ones
/// are excluded. `log`: of a store that is synchronised, without `old`; may be null.
duplicates_outcome leave_out_duplicates(const document_spool& spool, const store_to_update* old,
                                        duplicates_log* log, const std::filesystem::path& store,
                                        const scratch_folder& scratch, const context& ctx);

/// Warns if more than a tenth of the documents are excluded: in a catalogue of short descriptions they may be most of them.
/// `work`: what --skip duplicates would change, "a build".
void warn_of_many_excluded(std::uint64_t excluded, std::uint64_t documents, std::string_view work,
                           const context& ctx);

}  // namespace quern
