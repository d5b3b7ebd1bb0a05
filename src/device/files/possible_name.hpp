// SPDX-License-Identifier: Apache-2.0
// Whether a file can be made under a name, looked at before the work whose results it is to hold.
#pragma once

#include <filesystem>

namespace quern {

/// Throws usage_error where there is no such folder, io_error where it takes no new names: read-only, or another user's.
void require_writable_folder(const std::filesystem::path& folder);

/// What `code`, an errno of looking at `path`, means for a file to be made there: returns where nothing is there as yet, throws
/// usage_error where no file can have this name, io_error for the rest.
void require_possible_name(const std::filesystem::path& path, int code);

}  // namespace quern
