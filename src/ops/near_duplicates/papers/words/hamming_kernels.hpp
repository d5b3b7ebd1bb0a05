// SPDX-License-Identifier: Apache-2.0
// Hamming distances with the vector registers of the current processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::near_duplicates_detail {

/// Writes the positions of the values that differ from x in at most `bits` bits to `found`, ascending; returns their
/// number. `found` must hold `size` positions.
std::size_t find_near(const std::uint64_t* values, std::size_t size, std::uint64_t x, unsigned bits,
                      std::uint32_t* found);

}  // namespace quern::near_duplicates_detail
