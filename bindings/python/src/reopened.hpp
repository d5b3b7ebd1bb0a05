// SPDX-License-Identifier: Apache-2.0
// Shared by objects that are backed by files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace quern::python {

/// XXH3 of a file's bytes: 16 hexadecimal digits, as `xxhsum -H3` prints them. Throws io_error.
std::string fingerprint_of_file(const std::filesystem::path& file);

/// 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t number);

/// Of an object that was pickled: throws invalid_input if the file's checksum is another one now.
void check_unchanged(const std::filesystem::path& path, const std::string& checksum,
                     const std::string& expected);

}  // namespace quern::python
