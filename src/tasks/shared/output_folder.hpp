// SPDX-License-Identifier: Apache-2.0
// Argument checks of jobs that write a folder: its path, and whether an existing one may be replaced.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace quern {

/// Distinguishes the folders of one kind of job from all others.
struct folder_kind {
    std::string_view name;  ///< in messages: "store"
    bool (*is_one)(const std::filesystem::path&);
    std::vector<std::string_view> files;  ///< besides sections: logs and a list of stop words
    bool has_sections = true;             ///< whether every such folder has some
};

/// The folder's absolute path with links resolved. Throws io_error.
std::filesystem::path resolved_folder(const std::filesystem::path& folder);

/// Throws usage_error if something exists at `folder`, unless `force` is given and it is a folder of that kind without
/// foreign files; io_error if it cannot be accessed.
void refuse_to_replace(const std::filesystem::path& folder, const folder_kind& kind, bool force);

}  // namespace quern
