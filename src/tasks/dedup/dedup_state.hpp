// SPDX-License-Identifier: Apache-2.0
// What a run of dedup() found, and where its texts and records are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/tasks/dedup.hpp"
#include "report/duplicate_report.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/kept_folder.hpp"
#include "tasks/dedup/kept_rows.hpp"
#include "tasks/dedup/record_file.hpp"
#include "tasks/dedup/scratch_texts.hpp"

namespace quern {

struct dedup_result::state {
    explicit state(const context& ctx) : scratch(ctx) {}

    scratch_folder scratch;
    std::optional<scratch_texts> texts;  ///< mapped by the table
    document_table table;
    std::vector<bool> is_new;              ///< by position
    std::vector<std::uint32_t> positions;  ///< of the corpus's documents, in order
    std::vector<duplicate_pair> pairs;
    std::optional<std::uint64_t> pair_count;
    bool pairs_are_listed = false;
    std::vector<duplicate_group> groups;
    std::vector<removed_duplicate> removed;
    std::vector<bool> dropped;  ///< by position
    std::uint32_t dropped_count = 0;
    std::optional<record_file> records;
    std::optional<row_file> rows;
    std::unique_ptr<kept_folder> folder;
    report::duplicate_summary summary;
};

}  // namespace quern
