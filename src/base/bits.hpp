// SPDX-License-Identifier: Apache-2.0
// Bits counted by code that runs on a CPU and in kernels. Not by <bit>: nvcc 13.0 compiles std::popcount, std::countr_zero,
// std::countl_zero and std::bit_width in kernels to constants, without a warning. Of the builtins it takes these two.
#pragma once

#include <cstdint>

namespace quern {

constexpr unsigned count_of_ones(std::uint64_t word) {
    return static_cast<unsigned>(__builtin_popcountll(word));
}

/// The number of binary digits; 0 for 0.
constexpr unsigned binary_digits(std::uint64_t value) {
    return value == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(value));
}

/// The number of zeros below the lowest one; of a word that is not 0.
constexpr unsigned trailing_zeros(std::uint64_t word) {
    return 63 - static_cast<unsigned>(__builtin_clzll(word & (0 - word)));
}

}  // namespace quern
