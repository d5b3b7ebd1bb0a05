// SPDX-License-Identifier: Apache-2.0
// A job of several stages chooses its device and memory budget once, so that all of them use the same.
#pragma once

#include <string_view>

#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// `ctx` with its device and its memory fixed for all stages of `job`; records the device and the reason in
/// `statistics`. Throws as choose_device does.
context pinned_to_device(const context& ctx, std::string_view job, run_statistics& statistics,
                         offered_places offered = offered_places::all);

/// The same for a device that has been chosen; `ctx` keeps its memory.
context pinned_to_device(const chosen_device& chosen, const context& ctx, run_statistics& statistics);

}  // namespace quern
