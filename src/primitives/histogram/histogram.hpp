// SPDX-License-Identifier: Apache-2.0
// The count of each value. Contract class: exact.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

template <class T>
concept histogram_sample = one_of<T, std::uint8_t, std::uint32_t, std::uint64_t>;

/// counts[b] = the number of samples equal to b.
/// - A sample from counts.size() on is rejected (sample_out_of_range with the first one's position; the counts are then
///   undefined).
/// - Any number of bins: few stay in fast memory, many (a vocabulary) are counted in place. Equal samples are hardly slower
///   than different ones.
/// - Extra memory: CPU up to 4 bytes per sample (of up to 64 M at a time) or a few tables per thread; CUDA none.
/// - CUDA: does not synchronise; a rejection is thrown when the place is next synchronised.
template <histogram_sample Sample>
void histogram(cpu_place& place, std::span<const Sample> samples, std::span<std::uint64_t> counts);
template <histogram_sample Sample>
void histogram(cuda_place& place, device_span<const Sample> samples, device_span<std::uint64_t> counts);

}  // namespace quern::primitives
