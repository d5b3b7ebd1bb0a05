// SPDX-License-Identifier: Apache-2.0
// Memory that files are mapped to, known to quern/base/lost_pages.hpp by its address. All functions are thread-safe.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace quern {

/// From now on, until end_watch(). `file` is for messages, and, where its `status` is given, to look whether it was changed in
/// place: where another file has its name by now, it cannot have been.
void watch_mapping(const void* memory, std::size_t bytes, const std::filesystem::path& file,
                   const std::optional<struct stat>& status);
/// Another name for messages.
void name_watched(const void* memory, const std::filesystem::path& file);
/// It is a section of a store: what befalls it is damage to the store.
void watch_as_section(const void* memory, const std::string& name);
/// Call it before the memory is unmapped. What is not watched is passed over.
void end_watch(const void* memory) noexcept;

}  // namespace quern
