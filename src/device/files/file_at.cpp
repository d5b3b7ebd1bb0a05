// SPDX-License-Identifier: Apache-2.0
#include "device/files/file_at.hpp"

#include <unistd.h>

#include <cerrno>

#include "quern/base/error.hpp"

namespace quern {

void read_at(const descriptor& file, std::uint64_t offset, std::span<char> out,
             const std::filesystem::path& path) {
    while (!out.empty()) {
        const ssize_t got = ::pread(file.number(), out.data(), out.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) throw io_error(path.string(), "cannot read", got < 0 ? errno : EIO);
        offset += static_cast<std::uint64_t>(got);
        out = out.subspan(static_cast<std::size_t>(got));
    }
}

void write_at(const descriptor& file, std::uint64_t offset, std::string_view bytes,
              const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t put = ::pwrite(file.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) throw io_error(path.string(), "cannot write", put < 0 ? errno : EIO);
        offset += static_cast<std::uint64_t>(put);
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
}

}  // namespace quern
