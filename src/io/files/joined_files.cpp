// SPDX-License-Identifier: Apache-2.0
#include "io/files/joined_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "device/files/descriptor.hpp"
#include "device/files/mapped_pages.hpp"
#include "device/files/watched_mapping.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

joined_files::joined_files(joined_files&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      reserved_(std::exchange(other.reserved_, 0)),
      begins_(std::exchange(other.begins_, {})) {}

joined_files& joined_files::operator=(joined_files&& other) noexcept {
    if (this == &other) return *this;
    unmap();
    memory_ = std::exchange(other.memory_, nullptr);
    size_ = std::exchange(other.size_, 0);
    reserved_ = std::exchange(other.reserved_, 0);
    begins_ = std::exchange(other.begins_, {});
    return *this;
}

joined_files::~joined_files() {
    unmap();
}

void joined_files::unmap() noexcept {
    forget_mapped_pages(memory_);
    if (memory_ != nullptr) {
        end_watch(memory_);
        ::munmap(memory_, reserved_);
    }
    memory_ = nullptr;
    reserved_ = 0;
}

/// Address space costs nothing until something is mapped there, but it may be limited (ulimit -v): it is reserved in
/// doubling sizes, and existing mappings move there.
void joined_files::reserve(std::uint64_t bytes) {
    if (bytes <= reserved_) return;
    const std::uint64_t wanted = (std::max(bytes, 2 * reserved_) + joint - 1) / joint * joint;
    void* const memory =
        ::mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw out_of_memory("the addresses of texts", wanted, 0);
    forget_mapped_pages(memory_);
    char* const fresh = static_cast<char*>(memory);
    for (std::size_t i = 0; i < begins_.size(); ++i) {
        const std::uint64_t begin = begins_[i], end = i + 1 < begins_.size() ? begins_[i + 1] : size_;
        if (begin == end) continue;
        const std::uint64_t seen = end - begin;  // one mapping, so that it can be moved in one piece
        if (::mremap(memory_ + begin, seen, seen, MREMAP_MAYMOVE | MREMAP_FIXED, fresh + begin) ==
            MAP_FAILED) {
            throw out_of_memory("the addresses of texts", wanted, 0);
        }
    }
    unmap();
    memory_ = fresh;
    reserved_ = wanted;
    watch_mapping(memory_, reserved_, {}, std::nullopt);
}

void joined_files::append(const std::filesystem::path& path, std::uint64_t bytes) {
    const std::uint64_t begin = size_ - size_ % joint;
    const descriptor file = open_file(path, O_RDONLY);
    struct stat status {};
    if (::fstat(file.number(), &status) != 0) throw io_error(path.string(), "cannot look at", errno);
    // Accessing pages beyond a file's end would kill the process.
    if (static_cast<std::uint64_t>(status.st_size) < bytes || begin + bytes < size_) {
        throw io_error(path.string(), "has become shorter", EIO);
    }
    if (bytes == 0) return;
    reserve(begin + bytes);
    void* const memory = ::mmap(memory_ + begin, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file.number(), 0);
    if (memory == MAP_FAILED) throw io_error(path.string(), "cannot map", errno);
    name_watched(memory_, path);  // of several, only the last is named
    begins_.push_back(begin);
    size_ = begin + bytes;
    forget_mapped_pages(memory_);
    note_mapped_pages(memory_, size_);
}

}  // namespace quern::io
