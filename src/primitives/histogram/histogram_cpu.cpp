// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/fault.hpp"
#include "primitives/histogram/histogram.hpp"

namespace quern::primitives {

template <histogram_sample Sample>
void histogram(cpu_place&, std::span<const Sample> samples, std::span<std::uint64_t> counts) {
    std::fill(counts.begin(), counts.end(), 0);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        if (samples[i] >= counts.size()) throw_fault(fault::sample_out_of_range, i);
        ++counts[samples[i]];
    }
}

template void histogram(cpu_place&, std::span<const std::uint8_t>, std::span<std::uint64_t>);
template void histogram(cpu_place&, std::span<const std::uint32_t>, std::span<std::uint64_t>);
template void histogram(cpu_place&, std::span<const std::uint64_t>, std::span<std::uint64_t>);

}  // namespace quern::primitives
