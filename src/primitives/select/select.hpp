// SPDX-License-Identifier: Apache-2.0
// Selects some values, in their order: flagged ones, their positions, or one of each run. Contract class: exact. Values are
// moved as bits: 32- and 64-bit words represent any type of that size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// Writes the values whose flag is not 0 to the front of `out`, in order, and returns their number.
/// - One flag per value (usage_error otherwise).
/// - `out` must hold them all (values.size() always suffices; otherwise usage_error, and the output is undefined); the rest
///   of it does not change.
/// - No output overlaps an input.
/// - Extra memory: CPU none; CUDA 16 bytes for each 4,096 flags or more. Synchronises.
template <payload T>
std::size_t compact(cpu_place& place, std::span<const T> values, std::span<const std::uint8_t> flags,
                    std::span<T> out);
template <payload T>
std::size_t compact(cuda_place& place, device_span<const T> values, device_span<const std::uint8_t> flags,
                    device_span<T> out);

/// The same for the positions of the flags, ascending. Position: uint32 for fewer than 2³² flags (usage_error otherwise),
/// uint64 for any number.
template <payload Position>
std::size_t compact_positions(cpu_place& place, std::span<const std::uint8_t> flags, std::span<Position> out);
template <payload Position>
std::size_t compact_positions(cuda_place& place, device_span<const std::uint8_t> flags,
                              device_span<Position> out);

/// Runs of equal neighbours: unique[r] is the value of run r, counts[r] its length; returns the number of runs. Both must
/// hold that many (values.size() always suffices); the rest of them does not change. Otherwise as compact.
template <payload T>
std::size_t run_length_encode(cpu_place& place, std::span<const T> values, std::span<T> unique,
                              std::span<std::uint64_t> counts);
template <payload T>
std::size_t run_length_encode(cuda_place& place, device_span<const T> values, device_span<T> unique,
                              device_span<std::uint64_t> counts);

}  // namespace quern::primitives
