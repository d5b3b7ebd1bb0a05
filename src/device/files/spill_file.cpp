// SPDX-License-Identifier: Apache-2.0
#include "device/files/spill_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "quern/base/error.hpp"

namespace quern {

descriptor spill_file::open_for_reading(const std::filesystem::path& path) {
    return open_file(path, O_RDONLY);
}

void spill_file::read_at(std::uint64_t offset, std::span<char> out) const {
    while (!out.empty()) {
        const ssize_t got = pread(reader_.number(), out.data(), out.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) throw io_error(writer_.path().string(), "cannot read", got < 0 ? errno : EIO);
        offset += static_cast<std::uint64_t>(got);
        out = out.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace quern
