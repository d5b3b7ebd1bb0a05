// SPDX-License-Identifier: Apache-2.0
// An array in a mapped scratch file: the system decides which of its pages stay in memory.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "device/files/file_at.hpp"
#include "device/files/mapped_pages.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/error.hpp"

namespace quern {

template <class T>
class scratch_array {
  public:
    scratch_array(scratch_folder& folder, std::string_view name, std::size_t size)
        : path_(folder.file(name)), size_(size) {
        if (size == 0) return;
        const std::size_t bytes = size * sizeof(T);
        folder.take(bytes);
        file_ = open_file(path_, O_RDWR | O_CREAT | O_EXCL, 0600);
        // Allocates the space now, so that a full disk is an error here and not a signal later.
        if (const int failed = ::posix_fallocate(file_.number(), 0, static_cast<off_t>(bytes)); failed != 0)
            throw io_error(path_.string(), "cannot write", failed);
        map();
    }
    /// That of a file which has been written.
    scratch_array(std::filesystem::path path, std::size_t size) : path_(std::move(path)), size_(size) {
        if (size == 0) return;
        file_ = open_file(path_, O_RDWR);
        map();
    }
    scratch_array(const scratch_array&) = delete;  // one owner of the mapping
    scratch_array& operator=(const scratch_array&) = delete;
    ~scratch_array() {
        if (data_ == nullptr) return;
        forget_mapped_pages(data_);
        ::munmap(data_, size_ * sizeof(T));
    }

    std::span<T> span() const { return {data_, size_}; }
    /// Copies the elements from `first` on. A few of them anywhere are better read than looked up in span(): an access to a
    /// page that is not mapped maps the 64 KiB around it, and these count as resident until all are released. Throws io_error.
    void read(std::size_t first, std::span<T> out) const {
        read_at(file_, first * sizeof(T), {reinterpret_cast<char*>(out.data()), out.size_bytes()}, path_);
    }

  private:
    void map() {
        const std::size_t bytes = size_ * sizeof(T);
        void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
        if (address == MAP_FAILED) throw io_error(path_.string(), "cannot map", errno);
        data_ = static_cast<T*>(address);
        note_mapped_pages(data_, bytes);
    }

    std::filesystem::path path_;
    descriptor file_;
    T* data_ = nullptr;
    std::size_t size_;
};

}  // namespace quern
