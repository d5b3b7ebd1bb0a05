// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/stored_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "quern/base/error.hpp"

namespace quern::io {

file_bytes_at::file_bytes_at(std::filesystem::path path)
    : path_(std::move(path)), file_(open_file(path_, O_RDONLY)) {
    struct stat status {};
    if (fstat(file_.number(), &status) != 0) throw io_error(path_.native(), "cannot read", errno);
    size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t file_bytes_at::read_at(std::uint64_t offset, std::span<char> out) const {
    std::size_t filled = 0;
    while (filled < out.size()) {
        const ssize_t got = pread(file_.number(), out.data() + filled, out.size() - filled,
                                  static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw io_error(path_.native(), "cannot read", errno);
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    return filled;
}

descriptor file_bytes_at::as_file() const {
    return open_file(path_, O_RDONLY);
}

std::size_t memory_bytes_at::read_at(std::uint64_t offset, std::span<char> out) const {
    if (offset >= bytes_.size()) return 0;
    const std::size_t count = std::min<std::size_t>(out.size(), bytes_.size() - offset);
    std::memcpy(out.data(), bytes_.data() + offset, count);
    return count;
}

descriptor memory_bytes_at::as_file() const {
    descriptor file(memfd_create("quern-document", MFD_CLOEXEC));
    if (!file.is_open()) throw io_error("memory", "cannot create", errno);
    write_all(file, bytes_, "memory");
    if (lseek(file.number(), 0, SEEK_SET) != 0) throw io_error("memory", "cannot seek", errno);
    return file;
}

}  // namespace quern::io
