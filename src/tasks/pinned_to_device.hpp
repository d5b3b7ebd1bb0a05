// SPDX-License-Identifier: Apache-2.0
// A job of several stages settles once where it computes and what memory it has, so that all of them see the same.
#pragma once

#include <string_view>

#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// `run` with its device and its memory settled for all stages of `job`; notes in `statistics` which device and why.
/// Throws as choose_device does.
context pinned_to_device(const context& run, std::string_view job, run_statistics& statistics,
                         offered_places offered = offered_places::all);

}  // namespace quern
