// SPDX-License-Identifier: Apache-2.0
// A column of waiting rows, in separate pages. Threads fill such columns and others free them: in the heaps of the C library the
// freed ones stay between others, and add up to more than all rows that wait.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace quern::ngram_detail {

/// Grows without copying; what was never written takes no memory. Move-only.
template <class T>
class row_column {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    row_column() = default;
    row_column(row_column&& other) noexcept { swap(other); }
    row_column& operator=(row_column&& other) noexcept {
        row_column(std::move(other)).swap(*this);
        return *this;
    }
    row_column(const row_column&) = delete;  // one owner of the pages
    row_column& operator=(const row_column&) = delete;
    ~row_column() {
        if (data_ != nullptr) ::munmap(data_, bytes_of(size_));
    }

    T* data() const { return data_; }
    std::size_t size() const { return size_; }
    /// Keeps what is there.
    void grow(std::size_t size) {
        const std::size_t bytes = bytes_of(size);
        void* const grown = data_ == nullptr ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                             : ::mremap(data_, bytes_of(size_), bytes, MREMAP_MAYMOVE);
        if (grown == MAP_FAILED) throw std::bad_alloc();
        // A huge page would take the memory of what was not written, too.
        if (data_ == nullptr) ::madvise(grown, bytes, MADV_NOHUGEPAGE);
        data_ = static_cast<T*>(grown);
        size_ = size;
    }

  private:
    static std::size_t bytes_of(std::size_t size) {
        constexpr std::size_t page = std::size_t{1} << 16;  // a multiple of every machine's
        return (size * sizeof(T) + page - 1) / page * page;
    }
    void swap(row_column& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace quern::ngram_detail
