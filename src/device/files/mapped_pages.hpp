// SPDX-License-Identifier: Apache-2.0
// Releases pages of mapped files during a run, so that large mappings do not become resident as a whole
// (quern/base/resident_memory.hpp).
//
// Page faults go unnoticed, so the process checks its resident memory from time to time, more often the closer it is to
// the limit, in whichever thread calls next. Nothing is checked while few files are mapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "quern/base/resident_memory.hpp"

namespace quern {

/// From now on pages of this memory may be released at any time: a shared mapping of a file, or a private one that
/// nobody writes to. Without memory for the entry, they stay.
void note_mapped_pages(const void* memory, std::size_t bytes) noexcept;
/// Call it before registered memory is unmapped or moved. Null: no effect.
void forget_mapped_pages(const void* memory) noexcept;
/// Whether it lies in registered memory: then reading it here and there faults in the pages around each place, and it is better
/// read in order.
bool is_mapped(const void* memory) noexcept;

namespace mapped_pages_detail {
inline constexpr std::uint64_t few_bytes = std::uint64_t{8} << 20;
extern std::atomic<std::uint64_t> bytes_mapped;
void look() noexcept;
}  // namespace mapped_pages_detail

/// Releases pages if it is time to. Cheap enough for every document; thread-safe.
inline void give_back_mapped_pages() noexcept {
    using namespace mapped_pages_detail;
    if (bytes_mapped.load(std::memory_order_relaxed) > few_bytes) look();
}

}  // namespace quern
