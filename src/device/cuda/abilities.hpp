// SPDX-License-Identifier: Apache-2.0
// The only description of the features of a CUDA device. Operations choose kernels and sizes of shared memory by it;
// the results are the same bits for every choice.
#pragma once

#include <cstddef>

namespace quern::cuda {

struct abilities {
    /// The compute capability that the running code was compiled for: 90 for 9.0. A newer device may run older code.
    unsigned architecture = 0;
    /// Of a block at most, static and dynamic together.
    std::size_t shared_bytes = 0;
    static constexpr std::size_t hopper_shared_bytes = 227 << 10;

    /// Whether the kernels for Hopper run there: with the copy engine (bulk copies that signal barriers), clusters of blocks
    /// and 227 KiB of shared memory. GPUs of 12.x, which have less memory, run the portable ones.
    bool hopper() const { return architecture >= 90 && shared_bytes >= hopper_shared_bytes; }
    /// Whether a kernel can start before the previous one ends.
    bool starts_early() const { return architecture >= 90; }
    /// What is left to a kernel's dynamic shared memory besides its static shared memory.
    std::size_t dynamic_shared(std::size_t static_bytes) const;
};

inline constexpr unsigned min_architecture = 75;

/// The maximum of a block for a device of that compute capability; 64 KiB for unknown ones.
std::size_t shared_bytes_of(unsigned architecture);

/// Of device `ordinal`. The environment variable QUERN_CUDA_ARCHITECTURE (75 to 120) makes it no more able than a device of
/// that compute capability, for tests. Throws device_error for a wrong value, and for what CUDA reports.
abilities abilities_of(int ordinal);

/// The same, of a device and code with these properties: for tests. `limit`: the value of the variable, or null.
abilities limited_abilities(unsigned architecture, std::size_t shared_bytes, const char* limit);

}  // namespace quern::cuda
