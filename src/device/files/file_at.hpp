// SPDX-License-Identifier: Apache-2.0
// Bytes at a position of an open file. Any number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "device/files/descriptor.hpp"

namespace quern {

/// Fills `out` with the bytes at `offset`; throws io_error ("cannot read"), also if there are fewer.
void read_at(const descriptor& file, std::uint64_t offset, std::span<char> out,
             const std::filesystem::path& path);
/// Replaces the bytes at `offset`; throws io_error ("cannot write").
void write_at(const descriptor& file, std::uint64_t offset, std::string_view bytes,
              const std::filesystem::path& path);

}  // namespace quern
