// SPDX-License-Identifier: Apache-2.0
// What a primitive can find wrong with the values themselves: the same words on every place. A CPU place throws
// at once; a kernel notes the fault and the place throws when it is next synchronised.
#pragma once

#include <cstdint>

namespace quern {

/// In the order in which doors look for them: of several kinds, the first named here is thrown.
enum class fault : std::uint8_t {
    offsets_not_rising,  ///< of segments: see primitives/segments.hpp
    key_not_a_number,
    sample_out_of_range,  ///< a histogram's sample that has no bin
};

/// Throws invalid_value: what is wrong, and at which position (from 0).
[[noreturn]] void throw_fault(fault kind, std::uint64_t position);

/// A fault as one number, so that the least of several is the first: what kernels take the minimum of.
constexpr std::uint64_t no_fault = ~std::uint64_t{0};
constexpr std::uint64_t packed_fault(fault kind, std::uint64_t position) {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 | position;
}
inline void throw_packed_fault(std::uint64_t packed) {
    if (packed != no_fault)
        throw_fault(static_cast<fault>(packed >> 56), packed & ((std::uint64_t{1} << 56) - 1));
}

}  // namespace quern
