// SPDX-License-Identifier: Apache-2.0
// Memory that is written in many places at once wants few, large pages: fewer faults, and addresses that the
// processor translates without looking them up.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace quern {

/// Asks for huge pages where whole ones lie within the memory, before it is first touched. A wish: nothing else
/// changes where the system does not grant it.
inline void wish_for_huge_pages(void* memory, std::size_t bytes) noexcept {
    constexpr std::uintptr_t huge_page = std::uintptr_t{1} << 21;
    const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + huge_page - 1) / huge_page * huge_page;
    const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / huge_page * huge_page;
    if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace quern
