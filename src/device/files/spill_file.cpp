// SPDX-License-Identifier: Apache-2.0
#include "device/files/spill_file.hpp"

#include <fcntl.h>

#include "device/files/file_at.hpp"

namespace quern {

descriptor spill_file::open_for_reading(const std::filesystem::path& path) {
    return open_file(path, O_RDONLY);
}

void spill_file::read_at(std::uint64_t offset, std::span<char> out) const {
    quern::read_at(reader_, offset, out, writer_.path());
}

}  // namespace quern
