// SPDX-License-Identifier: Apache-2.0
// The list of a unit's documents. A document takes some 300 bytes, so a unit of short lines has a list of tens of MiB. Lists
// come from a pool that the units of a corpus share: fresh memory would cost more time than the reading of short lines.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/pooled_bytes.hpp"
#include "quern/base/document.hpp"

namespace quern::io {

/// Gives the memory back to its pool. Without a pool, it is of the heap.
template <class Value>
class pooled_allocator {
  public:
    using value_type = Value;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    pooled_allocator() = default;
    explicit pooled_allocator(std::shared_ptr<buffer_pool> pool) : pool_(std::move(pool)) {}
    pooled_allocator(const pooled_allocator&) = default;  // not moved: what is moved from must stay equal
    pooled_allocator& operator=(const pooled_allocator&) = default;
    ~pooled_allocator() = default;

    Value* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(Value);
        void* const memory = pool_ ? pool_->allocate(bytes) : ::operator new(bytes);
        if (memory == nullptr) throw std::bad_alloc();
        return static_cast<Value*>(memory);
    }
    void deallocate(Value* memory, std::size_t count) noexcept {
        if (pool_) return pool_->release(reinterpret_cast<char*>(memory), count * sizeof(Value));
        ::operator delete(memory);
    }
    bool operator==(const pooled_allocator& other) const { return pool_ == other.pool_; }

  private:
    std::shared_ptr<buffer_pool> pool_;
};

using list_allocator = pooled_allocator<document>;
using document_list = std::vector<document, list_allocator>;

}  // namespace quern::io
