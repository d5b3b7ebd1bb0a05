// SPDX-License-Identifier: Apache-2.0
// Shared by the results of all tasks: the record of the run.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "quern/base/document.hpp"
#include "quern/tasks/statistics.hpp"
#include "table.hpp"

namespace quern::python {

/// As --stats writes it: a dict of stages, counts, seconds, peak memory, device and why.
nanobind::object statistics_dict(const run_statistics& statistics);
/// What was read, rejected and skipped: a dict.
nanobind::dict counts_dict(const reading_counts& counts);
/// Documents that were rejected, cut or repaired: path, line, reason, rejected.
table issues_table(const std::vector<input_issue>& issues);

}  // namespace quern::python
