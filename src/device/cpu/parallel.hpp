// SPDX-License-Identifier: Apache-2.0
// Loops of the CPU place: a range of items cut into pieces that its threads take as they are free.
#pragma once

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <algorithm>
#include <cstddef>

#include "device/cpu/hand_over.hpp"
#include "device/cpu/place.hpp"
#include "device/cpu/threads.hpp"

namespace quern {

/// Calls work(p) for every p below `pieces`, at once on up to place.threads() threads. Returns when all are done;
/// the first exception is rethrown. No piece may wait for another.
template <class Work>
void for_each_piece(cpu_place& place, std::size_t pieces, const Work& work) {
    if (pieces <= 1 || place.threads() == 1) {
        for (std::size_t p = 0; p < pieces; ++p) work(p);
        return;
    }
    const auto share_of_work = [&work](std::size_t p) {
        const handed_over::share mine;
        work(p);
    };
    const handed_over whole;  // after what the threads read: they learn of nothing later
    run_parallel(place.run(), [&] {
        tbb::parallel_for(std::size_t{0}, pieces, share_of_work, tbb::simple_partitioner());
    });
}

/// How many pieces to cut `items` into: none smaller than `least` but the only one, and at most `per_thread` for
/// each thread. Results must not depend on it.
inline std::size_t pieces_for(const cpu_place& place, std::size_t items, std::size_t least,
                              std::size_t per_thread = 4) {
    const std::size_t most = place.threads() == 1 ? 1 : place.threads() * per_thread;
    return std::clamp<std::size_t>(items / least, items == 0 ? 0 : 1, most);
}

/// Piece p of `items` cut into `pieces` of almost equal size.
struct stretch {
    std::size_t begin, end;
};
inline stretch piece_of(std::size_t items, std::size_t pieces, std::size_t p) {
    const std::size_t each = items / pieces, longer = items % pieces;
    const std::size_t begin = p * each + std::min(p, longer);
    return {begin, begin + each + (p < longer ? 1 : 0)};
}

}  // namespace quern
