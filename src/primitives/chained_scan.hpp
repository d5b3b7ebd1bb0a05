// SPDX-License-Identifier: Apache-2.0
// Scans over pieces on the CPU, with one pass over memory. A thread takes the next piece, summarises it (which loads it
// into the thread's own cache), waits for the previous piece's prefix, passes on its own, and only then writes its results,
// from the cache.
//
// This is the chained scan of GPUs (Yan, Long and Zhang, StreamScan, PPoPP 2013) with pieces that fit a core's second-level
// cache; reduce-then-scan over halves of the input reads everything twice from memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>

#include "device/cpu/parallel.hpp"

namespace quern::primitives {

/// Items of a piece whose largest array has items of `item_bytes`: 128 KiB, a whole number of 64.
constexpr std::size_t cached_piece(std::size_t item_bytes) {
    return (std::size_t{1} << 17) / item_bytes;
}

constexpr std::size_t pieces_of(std::size_t items, std::size_t each) {
    return (items + each - 1) / each;
}

/// The number of threads that so many pieces justify.
inline std::size_t threads_for(const cpu_place& place, std::size_t pieces) {
    return pieces < 8 ? 1 : std::min<std::size_t>(place.threads(), pieces);
}

/// Whether an output is too large to stay in the caches, so that non-temporal stores are better.
constexpr bool worth_streaming(std::size_t bytes) {
    return bytes >= std::size_t{64} << 20;
}

/// Calls, for every piece of at most `each` of `items` items:
///     Summary summarise(slot, begin, end)              in parallel on several threads
///     Summary pass_on(before, summary)                 in the order of the pieces, one at a time: the next prefix
///     void finish(slot, begin, end, before, summary)   in parallel on several threads
/// `slot` is below place.threads(), and no two parallel calls share one: for thread-local memory. The calls for one
/// piece have the same slot and follow each other. Returns the prefix after the last piece, `first` if there is none.
/// Only summarise may throw.
template <class Summary, class Summarise, class PassOn, class Finish>
Summary for_each_piece_chained(cpu_place& place, std::size_t items, std::size_t each, const Summary& first,
                               const Summarise& summarise, const PassOn& pass_on, const Finish& finish) {
    const std::size_t pieces = pieces_of(items, each);
    std::atomic<std::size_t> taken{0}, turn{0};
    std::atomic<bool> failed{false};
    Summary so_far = first;  // of the thread whose turn it is
    const auto take_pieces = [&](std::size_t slot) {
        for (std::size_t p; !failed && (p = taken.fetch_add(1)) < pieces;) {
            const std::size_t begin = p * each, end = std::min(begin + each, items);
            Summary mine = first;
            try {
                place.ctx().check_stop();
                mine = summarise(slot, begin, end);
            } catch (...) {
                failed = true;  // nobody waits for this piece
                throw;
            }
            // Pieces are taken in order: some thread holds the previous one, and that thread waits for no later one.
            for (unsigned spins = 0; turn.load(std::memory_order_acquire) != p;) {
                if (failed) return;
                if (++spins > 1000) std::this_thread::yield();
            }
            const Summary before = so_far;
            so_far = pass_on(before, mine);
            turn.store(p + 1, std::memory_order_release);
            finish(slot, begin, end, before, mine);
        }
    };
    for_each_piece(place, threads_for(place, pieces), take_pieces);
    return so_far;
}

}  // namespace quern::primitives
