// SPDX-License-Identifier: Apache-2.0
#include "io/files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "device/files/descriptor.hpp"
#include "device/files/mapped_pages.hpp"
#include "device/files/watched_mapping.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

mapped_file::mapped_file(std::filesystem::path path, access expected) : path_(std::move(path)) {
    // O_NONBLOCK: a FIFO in place of a store file is refused below instead of blocking the open.
    const auto file = open_file(path_, O_RDONLY | O_NONBLOCK);
    struct stat status {};
    if (::fstat(file.number(), &status) != 0) throw io_error(path_.string(), "cannot open", errno);
    if (S_ISDIR(status.st_mode)) throw io_error(path_.string(), "cannot map", EISDIR);
    if (!S_ISREG(status.st_mode)) throw io_error(path_.string(), "cannot map", ENODEV);
    if (static_cast<std::uint64_t>(status.st_size) > SIZE_MAX) {
        throw io_error(path_.string(), "cannot map", EFBIG);
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.number(), 0);
    if (address == MAP_FAILED) throw io_error(path_.string(), "cannot map", errno);
    data_ = static_cast<const std::byte*>(address);
    try {
        watch_mapping(address, size_, path_, status);
    } catch (...) {
        unmap();
        throw;
    }
    note_mapped_pages(data_, size_);
    if (expected != access::normal) {
        ::madvise(address, size_, expected == access::random ? MADV_RANDOM : MADV_SEQUENTIAL);
    }
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
    if (this != &other) {
        unmap();
        path_ = std::move(other.path_);
        data_ = std::exchange(other.data_, nullptr);
        size_ = std::exchange(other.size_, 0);
    }
    return *this;
}

mapped_file::~mapped_file() {
    unmap();
}

void mapped_file::unmap() noexcept {
    if (data_ == nullptr) return;
    forget_mapped_pages(data_);
    end_watch(data_);
    ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace quern::io
