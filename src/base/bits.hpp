// SPDX-License-Identifier: Apache-2.0
// Bits counted by code that runs on a CPU and in kernels. Kernels must not call the functions of <bit>: nvcc 13.0 compiles
// std::popcount, std::countr_zero, std::countl_zero and std::bit_width to constants there, without a warning.
#pragma once

#include <bit>
#include <cstdint>

namespace quern {

constexpr unsigned count_of_ones(std::uint64_t word) {
#ifdef __CUDA_ARCH__
    return static_cast<unsigned>(__builtin_popcountll(word));
#else
    return static_cast<unsigned>(std::popcount(word));
#endif
}

/// The number of zeros below the lowest one; 64 for 0.
constexpr unsigned trailing_zeros(std::uint64_t word) {
#ifdef __CUDA_ARCH__
    return count_of_ones((word & (0 - word)) - 1);
#else
    return static_cast<unsigned>(std::countr_zero(word));
#endif
}

/// The number of binary digits; 0 for 0.
constexpr unsigned binary_digits(std::uint64_t value) {
    return value == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(value));
}

}  // namespace quern
