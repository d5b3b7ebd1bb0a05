// SPDX-License-Identifier: Apache-2.0
// File mappings, registered by address for quern/base/lost_pages.hpp. All functions are thread-safe.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace quern {

/// From now on, until end_watch(). `file` is for messages, and, if its `status` is given, for checking whether it was
/// changed in place: not if another file has its name by now.
void watch_mapping(const void* memory, std::size_t bytes, const std::filesystem::path& file,
                   const std::optional<struct stat>& status);
/// Another name for messages.
void name_watched(const void* memory, const std::filesystem::path& file);
/// It is a section of a store: lost pages are damage to the store.
void watch_as_section(const void* memory, const std::string& name);
/// Call it before the memory is unmapped. Memory that is not watched is ignored.
void end_watch(const void* memory) noexcept;

}  // namespace quern
