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

#include "device/files/mapped_pages.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/error.hpp"

namespace quern {

template <class T>
class scratch_array {
  public:
    scratch_array(scratch_folder& folder, std::string_view name, std::size_t size) : size_(size) {
        if (size == 0) return;
        const std::filesystem::path path = folder.file(name);
        const std::size_t bytes = size * sizeof(T);
        folder.take(bytes);
        const descriptor file = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        // Allocates the space now, so that a full disk is an error here and not a signal later.
        if (const int failed = ::posix_fallocate(file.number(), 0, static_cast<off_t>(bytes)); failed != 0)
            throw io_error(path.string(), "cannot write", failed);
        void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
        if (address == MAP_FAILED) throw io_error(path.string(), "cannot map", errno);
        data_ = static_cast<T*>(address);
        note_mapped_pages(data_, bytes);
    }
    scratch_array(const scratch_array&) = delete;  // one owner of the mapping
    scratch_array& operator=(const scratch_array&) = delete;
    ~scratch_array() {
        if (data_ == nullptr) return;
        forget_mapped_pages(data_);
        ::munmap(data_, size_ * sizeof(T));
    }

    std::span<T> span() const { return {data_, size_}; }

  private:
    T* data_ = nullptr;
    std::size_t size_;
};

}  // namespace quern
