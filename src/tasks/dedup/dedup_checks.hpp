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
#include "tasks/shared/device_ahead.hpp"

namespace quern {

/// Whether a method compares words, not texts.
bool compares_words(duplicate_method method);

/// Throws usage_error for options that are out of range or mutually exclusive, and for an invalid store or `against`.
void check_request(const dedup_options& options);

/// What chooses the device of `method`, among the places on which it runs.
device_ahead choose_device_ahead(const context& ctx, duplicate_method method);

/// A report's description of the parameters, and of the corpus that was read.
report::duplicate_summary summary_of(const dedup_options& options, const reading_counts& counts,
                                     const run_statistics& statistics);

}  // namespace quern
