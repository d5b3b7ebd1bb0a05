// SPDX-License-Identifier: Apache-2.0
// Adds a stage's result to the manifest of a store, outside a build.
#pragma once

#include <filesystem>

#include "device/files/file_writer.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store_build/stages.hpp"

namespace quern::testing {

/// A store that was opened before does not see it.
inline void add_outcome(const std::filesystem::path& store, const stage_outcome& outcome) {
    store_info info = store_layout::read_manifest(store);
    quern::add_outcome(info, outcome);
    replace_file(store / store_layout::manifest, store_layout::manifest_text(info));
}

}  // namespace quern::testing
