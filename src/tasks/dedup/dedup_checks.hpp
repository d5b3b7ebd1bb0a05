// SPDX-License-Identifier: Apache-2.0
// Argument checks of dedup and of its stream, before the work, and the choice of device.
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

/// Throws usage_error for options that are out of range or mutually exclusive, and for an invalid store or `against`.
void check_request(const dedup_options& options);

/// As tasks/shared/pinned_to_device.hpp, for the places on which `method` runs.
context pinned_to_device(const context& ctx, duplicate_method method, run_statistics& statistics);

/// A report's description of the parameters, and of the corpus that was read.
report::duplicate_summary summary_of(const dedup_options& options, const reading_counts& counts,
                                     const run_statistics& statistics);

}  // namespace quern
