// SPDX-License-Identifier: Apache-2.0
// Loops on the CPU: a range of items cut into pieces, which threads take as they become free.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/function_ref.hpp"
#include "device/cpu/cpu_place.hpp"

namespace quern {

/// Calls work(p) for every p below `pieces`, concurrently on up to place.threads() threads. Returns when all are done;
/// rethrows the first exception. No piece may wait for another.
void for_each_piece(cpu_place& place, std::size_t pieces, function_ref<void(std::size_t)> work);

/// How many pieces to cut `items` into: none smaller than `least` unless it is the only one, and at most `per_thread`
/// for each thread. Results must not depend on it.
inline std::size_t pieces_for(const cpu_place& place, std::size_t items, std::size_t least,
                              std::size_t per_thread = 4) {
    const std::size_t max = place.threads() == 1 ? 1 : place.threads() * per_thread;
    return std::clamp<std::size_t>(items / least, items == 0 ? 0 : 1, max);
}

/// Piece p of `items` cut into `pieces` of almost equal size.
struct item_range {
    std::size_t begin, end;
};
inline item_range piece_of(std::size_t items, std::size_t pieces, std::size_t p) {
    const std::size_t each = items / pieces, longer = items % pieces;
    const std::size_t begin = p * each + std::min(p, longer);
    return {begin, begin + each + (p < longer ? 1 : 0)};
}

}  // namespace quern
