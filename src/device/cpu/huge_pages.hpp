// SPDX-License-Identifier: Apache-2.0
// Memory that is written in many places at once benefits from few, large pages: fewer faults, and fewer address
// translations.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>

namespace quern {

/// Requests huge pages for the whole ones within the memory, before it is first touched. A hint: nothing else changes
/// if the system does not grant it.
inline void wish_for_huge_pages(void* memory, std::size_t bytes) noexcept {
    constexpr std::size_t huge_page = std::size_t{1} << 21;
    if (std::align(huge_page, huge_page, memory, bytes) == nullptr) return;  // no whole page within
    (void)madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
}

}  // namespace quern
