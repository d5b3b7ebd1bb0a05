// SPDX-License-Identifier: Apache-2.0
// Counting the slow, obvious way; a sample without a bin is an exception of the vector.
#pragma once

#include <cstdint>
#include <vector>

namespace quern::reference {

template <class Sample>
std::vector<std::uint64_t> histogram(const std::vector<Sample>& samples, std::size_t bins) {
    std::vector<std::uint64_t> counts(bins);
    for (const Sample sample : samples) ++counts.at(sample);
    return counts;
}

}  // namespace quern::reference
