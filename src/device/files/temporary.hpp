// SPDX-License-Identifier: Apache-2.0
// Temporary files and folders that can be distinguished from those of a dead process: each is locked (flock) as long as
// its owner lives, and the kernel drops the lock however the owner ends. A process id in the name would not suffice:
// ids are reused.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "device/files/descriptor.hpp"

namespace quern {

/// A temporary file or folder in `folder`, named PREFIX + six random letters; open and locked.
struct temporary {
    std::filesystem::path path;
    descriptor handle;
};

/// `.NAME.quern-`: what precedes the letters of temporaries that will become `final_name`.
std::string temporary_prefix(const std::filesystem::path& final_name);

/// Both throw usage_error if the folder does not exist, io_error if nothing can be created in it.
temporary make_temporary_file(const std::filesystem::path& folder, std::string_view prefix);
/// The folder is private (0700) until its maker publishes it.
temporary make_temporary_folder(const std::filesystem::path& folder, std::string_view prefix);

/// Opens a file of exactly this name, created if it is missing, and locks it; no descriptor if another process holds
/// the lock. Its owner removes the file before the descriptor is closed. Throws usage_error if its folder is missing,
/// io_error.
descriptor lock_file(const std::filesystem::path& path);

/// Removes the entries of `folder` named PREFIX + six letters whose owner is gone. Never throws: a leftover
/// that cannot be removed (another user's) is not this run's failure.
void remove_stale_temporaries(const std::filesystem::path& folder, std::string_view prefix) noexcept;

/// The first of these, by name, that `wanted` accepts, now locked by this process; the others are removed. Throws what
/// `wanted` throws.
std::optional<temporary> take_over_temporary(
    const std::filesystem::path& folder, std::string_view prefix,
    const std::function<bool(const std::filesystem::path& leftover)>& wanted);

// Whether a file can be created under a name, checked before the work whose results it will hold.

/// Throws usage_error if the folder does not exist, io_error if nothing can be created in it: it is read-only, or belongs
/// to another user.
void require_writable_folder(const std::filesystem::path& folder);

/// What `code`, an errno of examining `path`, means for creating a file there: returns if nothing exists yet, throws
/// usage_error if no file can have this name, io_error otherwise.
void require_possible_name(const std::filesystem::path& path, int code);

}  // namespace quern
