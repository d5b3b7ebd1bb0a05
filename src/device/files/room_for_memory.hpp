// SPDX-License-Identifier: Apache-2.0
// Pages of mapped files stay resident while the limit has room for them. Memory that a run allocates then must not come on top.
#pragma once

#include <cstdint>

namespace quern {

/// Releases the pages of mapped files (mapped_pages.hpp) if that much new memory would exceed the limit with them. Thread-safe; a
/// system call or two, so for large blocks.
void make_room_for(std::uint64_t bytes) noexcept;

}  // namespace quern
