// SPDX-License-Identifier: Apache-2.0
#include "tasks/pinned_to_device.hpp"

namespace quern {

context pinned_to_device(const context& run, std::string_view job, run_statistics& statistics,
                         offered_places offered) {
    const chosen_device chosen = choose_device(run, job, offered);
    statistics.device = chosen.name;
    statistics.device_reason = chosen.reason;
    context pinned = run;
    pinned.memory_bytes = run.memory_limit();  // else the system is asked again for every document
    pinned.device = chosen.cuda ? device_choice{device_choice::kind::cuda, chosen.ordinal}
                                : device_choice{device_choice::kind::cpu};
    return pinned;
}

}  // namespace quern
