// SPDX-License-Identifier: Apache-2.0
#include "device/large_array.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "device/cpu/huge_pages.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::uint64_t page = std::uint64_t{1} << 16;  ///< a multiple of every machine's page size

constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
    return (bytes + page - 1) / page * page;
}

}  // namespace

reserved_memory::reserved_memory(memory_budget& budget, std::string_view what_for)
    : budget_(&budget), what_for_(what_for) {
    // If address space is limited (ulimit -v, no overcommitment), reserves as much as possible.
    constexpr std::uint64_t max = std::uint64_t{1} << 46;
    for (std::uint64_t wanted = whole_pages(std::min(budget.left(), max)); wanted >= page;
         wanted = wanted / 2 / page * page) {
        void* const memory = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) continue;
        memory_ = memory;
        reserved_ = wanted;
        return;
    }
}

reserved_memory::~reserved_memory() {
    if (memory_ != nullptr) ::munmap(memory_, reserved_);
    if (budget_ != nullptr) budget_->give_back(used_);
}

void reserved_memory::swap(reserved_memory& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(reserved_, other.reserved_);
    std::swap(used_, other.used_);
    std::swap(budget_, other.budget_);
    what_for_.swap(other.what_for_);
}

void reserved_memory::grow(std::uint64_t bytes) {
    if (bytes <= used_) return;
    budget_->take(bytes - used_, what_for_);
    if (bytes > reserved_) {
        budget_->give_back(bytes - used_);
        throw out_of_memory(what_for_, bytes, reserved_);
    }
    constexpr std::uint64_t step = std::uint64_t{1} << 22;  // large arrays only: a huge page is cleared whole
    if (used_ / step != bytes / step) {
        const std::uint64_t from = used_ / step * step, to = std::min(reserved_, (bytes / step + 1) * step);
        wish_for_huge_pages(static_cast<char*>(memory_) + from, to - from);
    }
    used_ = bytes;
}

void reserved_memory::settle() noexcept {
    const std::uint64_t kept = whole_pages(used_);
    if (kept < reserved_) ::munmap(static_cast<char*>(memory_) + kept, reserved_ - kept);
    reserved_ = std::min(kept, reserved_);
    if (reserved_ == 0) memory_ = nullptr;
    if (budget_ != nullptr) budget_->give_back(used_);
    budget_ = nullptr;
}

}  // namespace quern::io
