// SPDX-License-Identifier: Apache-2.0
// Whether a folder is what it is asked for: a store, a space, a sharded store.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/failure_kinds.hpp"
#include "quern/base/error.hpp"

namespace quern {

/// Whether `folder` has this file. Throws io_error if it cannot be seen: a store that must not be read, or on a failing disk, is
/// not a folder of another kind.
inline bool has_file(const std::filesystem::path& folder, std::string_view name) {
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(folder / name, failed);
    if (status.type() == std::filesystem::file_type::none && !says_missing(failed.value()))
        throw io_error(folder.string(), "cannot open", failed.value());
    return std::filesystem::is_regular_file(status);
}

}  // namespace quern
