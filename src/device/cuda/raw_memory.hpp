// SPDX-License-Identifier: Apache-2.0
// CUDA's calls for memory that the process shares with other libraries (quern/base/device_memory.hpp). Defined only if the
// program is built with CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quern/base/device_memory.hpp"

namespace quern::cuda {

data_location location_of(const void* address);
void* allocate(int ordinal, std::uint64_t bytes);
void release(int ordinal, void* memory) noexcept;
/// Both complete on return.
void copy_in(int ordinal, void* to, const void* from, std::size_t bytes);
void copy_out(const data_location& location, void* to, const void* from, std::size_t bytes);

}  // namespace quern::cuda
