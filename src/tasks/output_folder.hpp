// SPDX-License-Identifier: Apache-2.0
// What stands at the door of a job that writes a folder: where it will lie, and whether what lies there now may go.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace quern {

/// What tells the folders of one job from all others.
struct folder_kind {
    std::string_view name;  ///< in messages: "store"
    bool (*is_one)(const std::filesystem::path&);
    std::vector<std::string_view> files;  ///< it holds, beside sections, logs and a list of stop words
};

/// The folder's path as the system will see it, whatever is linked on the way. Throws io_error.
std::filesystem::path resolved_folder(const std::filesystem::path& folder);

/// Throws usage_error where there is something at `folder`, unless `force` is given and it is a folder of that kind
/// with nothing of its owner's in it; io_error where it cannot be seen.
void refuse_to_replace(const std::filesystem::path& folder, const folder_kind& kind, bool force);

}  // namespace quern
