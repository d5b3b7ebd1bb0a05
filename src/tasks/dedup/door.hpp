// SPDX-License-Identifier: Apache-2.0
// What stands at the door of dedup and of its stream: refusals before the work, and where the work is done.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/statistics.hpp"
#include "report/duplicate_report.hpp"

namespace quern {

/// Whether a method compares words, not texts.
bool compares_words(duplicate_method method);

/// Throws usage_error for options out of range or that exclude each other, and for a store or `against` that cannot be.
void check_request(const dedup_options& options);

/// As tasks/pinned_to_device.hpp says, on the places that `method` runs on.
context pinned_to_device(const context& run, duplicate_method method, run_statistics& statistics);

/// What a report says of the question, and of the corpus that was read.
report::duplicate_facts facts_of(const dedup_options& options, const reading_counts& counts,
                                 const run_statistics& statistics);

/// A group that holds documents from before keeps one of them: they are out in the world already.
void keep_earlier(std::span<const std::uint64_t> lengths, const std::vector<bool>& is_new, keep_policy keep,
                  std::span<duplicate_group> groups);

}  // namespace quern
