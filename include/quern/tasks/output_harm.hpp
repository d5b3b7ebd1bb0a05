// SPDX-License-Identifier: Apache-2.0
// Refuses results that would damage an input.
#pragma once

#include <filesystem>
#include <span>

namespace quern {

/// Throws usage_error if writing `path` would damage an input of the run: it is one of the `inputs` under any
/// name, or inside one that is a folder, or inside any store. Anything but a regular file (/dev/null, a FIFO)
/// is allowed. Ignores empty inputs and "-".
void refuse_harm(const std::filesystem::path& path, std::span<const std::filesystem::path> inputs);

/// Whether two names refer to the same regular file, which need not exist.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace quern
