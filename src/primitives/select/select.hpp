// SPDX-License-Identifier: Apache-2.0
// Keeping some values, in their order: those flagged, their positions, one of each run. Contract class: exact.
// Values are moved as bits: 32- and 64-bit words stand for any type of that size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// Writes the values whose flag is not 0 to the front of `out`, in order, and returns how many they are. One flag a
/// value (usage_error otherwise). `out` must hold them all (values.size() always does; usage_error where it does
/// not, and what was written is worth nothing); the rest of it is left as it was. No output overlaps an input. Memory
/// beside: CPU none; CUDA 16 bytes for each 4,096 flags or more. Synchronises.
template <payload T>
std::size_t compact(cpu_place& place, std::span<const T> values, std::span<const std::uint8_t> flags,
                    std::span<T> out);
template <payload T>
std::size_t compact(cuda_place& place, device_span<const T> values, device_span<const std::uint8_t> flags,
                    device_span<T> out);

/// The same for the positions of the flags themselves, rising. Position: uint32 for fewer than 2³² flags
/// (usage_error otherwise), uint64 for any number.
template <payload Position>
std::size_t compact_positions(cpu_place& place, std::span<const std::uint8_t> flags, std::span<Position> out);
template <payload Position>
std::size_t compact_positions(cuda_place& place, device_span<const std::uint8_t> flags,
                              device_span<Position> out);

/// Runs of equal neighbours: unique[r] is the value of run r, counts[r] its length; returns the number of runs. Both
/// must hold that many (values.size() always does); the rest of them is left as it was. Otherwise as compact.
template <payload T>
std::size_t run_length_encode(cpu_place& place, std::span<const T> values, std::span<T> unique,
                              std::span<std::uint64_t> counts);
template <payload T>
std::size_t run_length_encode(cuda_place& place, device_span<const T> values, device_span<T> unique,
                              device_span<std::uint64_t> counts);

}  // namespace quern::primitives
