// SPDX-License-Identifier: Apache-2.0
// What a path leads to, where a failing disk must not be taken for a missing file.
#pragma once

#include <filesystem>
#include <system_error>

#include "quern/base/error.hpp"

namespace quern {

/// The status of a path, also of one that leads to nothing. Throws io_error if it cannot be looked at: no permission, a failing
/// disk.
inline std::filesystem::file_status file_status_of(const std::filesystem::path& path) {
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(path, failed);
    if (status.type() == std::filesystem::file_type::none)
        throw io_error(path.string(), "cannot open", failed.value());
    return status;
}

}  // namespace quern
