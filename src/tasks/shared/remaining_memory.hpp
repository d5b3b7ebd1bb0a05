// SPDX-License-Identifier: Apache-2.0
// Each stage of a job has a separate budget, which does not count the results of earlier stages.
#pragma once

#include <cstdint>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/base/error.hpp"

namespace quern {

/// `ctx` with the memory left after `held` bytes. Throws out_of_memory if none is left.
inline context with_remaining_memory(const context& ctx, std::uint64_t held, std::string_view what_for) {
    const std::uint64_t limit = ctx.memory_limit();
    if (held >= limit) throw out_of_memory(what_for, held, limit);
    context left = ctx;
    left.memory_bytes = limit - held;
    return left;
}

}  // namespace quern
