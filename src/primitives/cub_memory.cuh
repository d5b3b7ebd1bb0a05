// SPDX-License-Identifier: Apache-2.0
// Temporary memory for CUB's device-wide functions, for .cu files: from the place, so that it counts against its budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/array.hpp"
#include "device/cuda/check.cuh"

namespace quern::primitives {

/// Calls `call(memory, bytes)` twice: with null, for which a function of CUB only sets `bytes`, and with as many bytes.
/// Does not synchronise.
template <class Call>
void call_with_memory(cuda_place& place, std::string_view what_for, const Call& call) {
    std::size_t bytes = 0;
    QUERN_CHECK(call(nullptr, bytes));
    const cuda_array<std::uint8_t> memory(place, bytes, what_for);
    QUERN_CHECK(call(memory.data(), bytes));
}

}  // namespace quern::primitives
