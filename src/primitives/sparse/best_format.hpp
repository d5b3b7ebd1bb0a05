// SPDX-License-Identifier: Apache-2.0
// Which format computes a product soonest, from the lengths of the rows. Measured in docs/primitives/sparse.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "device/place.hpp"
#include "primitives/sparse/formats.hpp"

namespace quern::primitives {

struct row_statistics {
    std::uint64_t rows = 0, entries = 0, longest = 0;
};

/// Of rows as csr_view has them; the offsets rise.
inline row_statistics statistics_of(std::span<const std::uint64_t> offsets) {
    row_statistics found;
    if (offsets.empty()) return found;
    found.rows = offsets.size() - 1;
    found.entries = offsets.back();
    for (std::size_t i = 0; i < found.rows; ++i)
        found.longest = std::max(found.longest, offsets[i + 1] - offsets[i]);
    return found;
}

