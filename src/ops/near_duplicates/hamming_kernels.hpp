// SPDX-License-Identifier: Apache-2.0
// Hamming distances by the vector registers of the processor at hand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::near_duplicates_detail {

/// Writes the positions of the values that differ from x in at most `bits` bits to `found`, rising, and returns how
/// many they are; `found` has room for `size`.
std::size_t find_near(const std::uint64_t* values, std::size_t size, std::uint64_t x, unsigned bits,
                      std::uint32_t* found);

}  // namespace quern::near_duplicates_detail
