// SPDX-License-Identifier: Apache-2.0
// How many threads a memory budget is enough for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

#include "quern/base/context.hpp"

namespace quern {

/// What a thread may need besides its share of the data: its part of a sort, its sums and buffers, and what the C library keeps for
/// it. Two threads fit into any budget.
inline constexpr std::uint64_t memory_of_a_thread = std::uint64_t{8} << 20;

/// For a budget of so many bytes.
constexpr std::uint64_t max_threads_within(std::uint64_t memory) {
    return std::max<std::uint64_t>(2, memory / memory_of_a_thread);
}

/// `ctx` with at most one thread for every memory_of_a_thread of its budget, and two at least where two are wanted. Results do not
/// depend on it.
inline context with_threads_within_memory(const context& ctx) {
    const unsigned wanted = ctx.threads != 0 ? ctx.threads : std::thread::hardware_concurrency();
    context fitting = ctx;
    if (wanted <= 2) return fitting;
    const std::uint64_t most = max_threads_within(ctx.memory_limit());
    if (wanted > most) fitting.threads = static_cast<unsigned>(most);
    return fitting;
}

}  // namespace quern
