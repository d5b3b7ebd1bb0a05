// SPDX-License-Identifier: Apache-2.0
// Each stage of a job has a budget of its own; what an earlier stage handed over is no longer counted there.
#pragma once

#include <cstdint>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/base/error.hpp"

namespace quern {

/// `run` with the memory that is left beside `held` bytes. Throws out_of_memory where none is.
inline context with_memory_left(const context& run, std::uint64_t held, std::string_view what_for) {
    const std::uint64_t limit = run.memory_limit();
    if (held >= limit) throw out_of_memory(what_for, held, limit);
    context left = run;
    left.memory_bytes = limit - held;
    return left;
}

}  // namespace quern
