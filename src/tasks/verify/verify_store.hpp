// SPDX-License-Identifier: Apache-2.0
// Whether the files of a store are those that its manifest describes.
#pragma once

#include <cstdint>
#include <filesystem>

#include "quern/base/context.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// Reads every byte of the sections, the stop words and the thesaurus, and verifies every checksum; returns the bytes
/// read. Throws damaged_store naming the section.
std::uint64_t check_files(const std::filesystem::path& store, const store_info& info, const context& ctx);

}  // namespace quern
