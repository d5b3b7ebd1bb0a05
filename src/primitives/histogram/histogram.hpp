// SPDX-License-Identifier: Apache-2.0
// How often each value occurs. Contract class: exact.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

template <class T>
concept histogram_sample = one_of<T, std::uint8_t, std::uint32_t, std::uint64_t>;

/// counts[b] = number of samples equal to b. A sample from counts.size() on is refused (sample_out_of_range, the
/// first one's position, and the counts are then worth nothing). Any number of bins: few stay in fast memory, many (a
/// vocabulary) are counted in place. All samples equal is no slower than all different by more than a little.
/// Memory beside: CPU up to 4 bytes a sample (of up to 64 M at a time) or a few tables a thread; CUDA none. CUDA: does
/// not synchronise; a refusal is thrown when the place is next synchronised.
template <histogram_sample Sample>
void histogram(cpu_place& place, std::span<const Sample> samples, std::span<std::uint64_t> counts);
template <histogram_sample Sample>
void histogram(cuda_place& place, device_span<const Sample> samples, device_span<std::uint64_t> counts);

}  // namespace quern::primitives
