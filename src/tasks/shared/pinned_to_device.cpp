// SPDX-License-Identifier: Apache-2.0
#include "tasks/shared/pinned_to_device.hpp"

#include "device/place.hpp"

namespace quern {

context pinned_to_device(const context& ctx, std::string_view job, run_statistics& statistics,
                         offered_places offered) {
    context pinned = pinned_to_device(choose_device(ctx, job, offered), ctx, statistics);
    pinned.memory_bytes = ctx.memory_limit();  // otherwise the system would be queried for every document
    return pinned;
}

context pinned_to_device(const chosen_device& chosen, const context& ctx, run_statistics& statistics) {
    statistics.device = chosen.name;
    statistics.device_reason = chosen.reason;
    return pinned_to(chosen, ctx);
}

}  // namespace quern
