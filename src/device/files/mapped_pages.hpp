// SPDX-License-Identifier: Apache-2.0
// Gives pages of mapped files back while a run goes on, so that what it maps does not count as much memory as it is long
// (quern/base/resident_memory.hpp).
//
// Nobody sees a page that is touched, so the process looks at what it holds: from time to time, the sooner the less room is
// left, in whichever thread asks next. Nothing is looked at where few files are mapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "quern/base/resident_memory.hpp"

namespace quern {

/// From here on pages of this memory may be given back at any time: a shared mapping of a file, or a private one that nobody
/// writes to. Where there is no room even for the note they are not.
void note_mapped_pages(const void* memory, std::size_t bytes) noexcept;
/// Before the memory that was noted so is unmapped or moved. Null: nothing.
void forget_mapped_pages(const void* memory) noexcept;

namespace mapped_pages_detail {
inline constexpr std::uint64_t few_bytes = std::uint64_t{8} << 20;
extern std::atomic<std::uint64_t> bytes_mapped;
void look() noexcept;
}  // namespace mapped_pages_detail

/// Gives pages back where it is time to. Cheap enough for every document; any threads.
inline void give_back_mapped_pages() noexcept {
    using namespace mapped_pages_detail;
    if (bytes_mapped.load(std::memory_order_relaxed) > few_bytes) look();
}

}  // namespace quern
