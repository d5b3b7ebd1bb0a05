// SPDX-License-Identifier: Apache-2.0
// What a stage made for the store that a synchronised build replaces, if the stage reads the same of the new one.
#pragma once

#include <filesystem>
#include <optional>

#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store_build/stages.hpp"

namespace quern {

/// Copies it from the store in `earlier`, with the manifest `before`, into that in `made`, and verifies every checksum. Nothing
/// if a section that the stage reads differs, if the stage made nothing, or if what it made is damaged. Both must have the same
/// text options and be made by the same version of the program with the same seed. Throws interrupted, and io_error where
/// the copy cannot be written. Cost: two passes over what the stage made.
std::optional<stage_outcome> unchanged_outcome(build_stage stage, const std::filesystem::path& earlier,
                                               const store_info& before, const std::filesystem::path& made,
                                               const store_info& now, const context& ctx);

}  // namespace quern
