// SPDX-License-Identifier: Apache-2.0
// The merge path of segments and items, found at one diagonal by bisection (Merrill and Garland 2016).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "primitives/load_balance/load_balance.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {

/// ⌊part · whole / parts⌋ for part ≤ parts, without overflow.
constexpr std::uint64_t share_of(std::uint64_t whole, std::uint64_t part, std::uint64_t parts) {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>(wide{part} * whole / parts);
}

/// The point of the path after `diagonal` steps, by bisection in log₂ of the segments. The offsets must be valid.
inline merge_path_point merge_path_at(std::span<const std::uint64_t> offsets, std::uint64_t diagonal) {
    const std::uint64_t segments = segments_in(offsets.size()), items = offsets.empty() ? 0 : offsets.back();
    std::uint64_t low = diagonal > items ? diagonal - items : 0, high = std::min(diagonal, segments);
    while (low < high) {  // the first segment that does not end within the items left of the diagonal
        const std::uint64_t middle = low + (high - low) / 2;
        if (offsets[middle + 1] < diagonal - middle)
            low = middle + 1;
        else
            high = middle;
    }
    return {low, diagonal - low};
}

}  // namespace quern::primitives
