// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "device/cpu/huge_pages.hpp"
#include "device/files/room_for_memory.hpp"

namespace quern {
namespace {

constexpr std::size_t min_kept = std::size_t{1} << 20;  // smaller blocks are fast in the C library
constexpr std::size_t max_kept = 32;
constexpr std::size_t huge_page = std::size_t{1} << 21;

/// The size of the block for that many bytes: one of eight between two powers of two, so that similar sizes share
/// blocks. The bytes past the requested size are never touched.
std::size_t block_size(std::size_t bytes) {
    const std::size_t step = std::bit_floor(bytes) / 8;  // a power of two: kept blocks are large
    return (bytes + step - 1) & ~(step - 1);
}

std::align_val_t alignment_of(std::size_t bytes) {
    return std::align_val_t{bytes >= huge_page ? huge_page : 64};
}

}  // namespace

void* memory_pool::allocate(std::size_t bytes, std::uint64_t may_keep) noexcept {
    if (bytes < min_kept) return allocate_small(bytes, may_keep);
    const std::size_t size = block_size(bytes);
    const std::lock_guard hold(mutex_);
    const auto fits =
        std::find_if(kept_.rbegin(), kept_.rend(), [&](const block& b) { return b.bytes == size; });
    void* memory = nullptr;
    if (fits != kept_.rend()) {
        memory = fits->memory;
        kept_bytes_ -= size;
        kept_.erase(std::next(fits).base());
    }
    keep_at_most(may_keep);
    if (memory != nullptr) return memory;
    make_room_for(bytes);
    memory = ::operator new(size, alignment_of(size), std::nothrow);
    if (memory == nullptr) {
        keep_at_most(0);
        memory = ::operator new(size, alignment_of(size), std::nothrow);
    }
    if (memory != nullptr) wish_for_huge_pages(memory, size);
    return memory;
}

/// Small blocks are never kept, but many of them may need the memory of those that are. Takes the lock only if
/// something must be freed.
void* memory_pool::allocate_small(std::size_t bytes, std::uint64_t may_keep) noexcept {
    if (kept() > may_keep) {
        const std::lock_guard hold(mutex_);
        keep_at_most(may_keep);
    }
    void* memory = ::operator new(bytes, std::align_val_t{64}, std::nothrow);
    if (memory == nullptr && kept() > 0) {
        const std::lock_guard hold(mutex_);
        keep_at_most(0);
        memory = ::operator new(bytes, std::align_val_t{64}, std::nothrow);
    }
    return memory;
}

void memory_pool::release(void* memory, std::size_t bytes) noexcept {
    if (bytes < min_kept) {
        ::operator delete(memory, std::align_val_t{64});
        return;
    }
    const std::size_t size = block_size(bytes);
    const std::lock_guard hold(mutex_);
    if (kept_.size() < max_kept) {
        try {
            kept_.push_back({memory, size});
            kept_bytes_ += size;
            return;
        } catch (const std::bad_alloc&) {  // no memory even for the list entry
        }
    }
    ::operator delete(memory, alignment_of(size));
}

/// Frees the oldest first.
void memory_pool::keep_at_most(std::uint64_t bytes) noexcept {
    auto first = kept_.begin();
    for (; kept_bytes_ > bytes; ++first) {
        ::operator delete(first->memory, alignment_of(first->bytes));
        kept_bytes_ -= first->bytes;
    }
    kept_.erase(kept_.begin(), first);
}

}  // namespace quern
