// SPDX-License-Identifier: Apache-2.0
// Faults in the values passed to a primitive, with the same messages on every place. A CPU place throws
// at once; a kernel records the fault, and the place throws when it next synchronises.
#pragma once

#include <cstdint>

namespace quern {

/// In the order of checking: if there are several kinds, the first named here is thrown.
enum class fault : std::uint8_t {
    offsets_not_rising,  ///< of segments: see primitives/segments.hpp
    key_not_a_number,
    sample_out_of_range,  ///< a histogram's sample that has no bin
};

/// Throws invalid_value: the problem and its position (from 0).
[[noreturn]] void throw_fault(fault kind, std::uint64_t position);

/// A fault as one number, ordered by kind and position: kernels take the minimum.
constexpr std::uint64_t no_fault = ~std::uint64_t{0};
constexpr std::uint64_t packed_fault(fault kind, std::uint64_t position) {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 | position;
}
inline void throw_packed_fault(std::uint64_t packed) {
    if (packed != no_fault)
        throw_fault(static_cast<fault>(packed >> 56), packed & ((std::uint64_t{1} << 56) - 1));
}

}  // namespace quern
