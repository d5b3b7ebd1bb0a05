// SPDX-License-Identifier: Apache-2.0
// Several places for one test: on the CPU several, on GPUs the others of the machine in turn, or the only one again.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/devices.hpp"

namespace quern {

/// `count` further places of the chosen kind, for chosen_device::more.
inline std::vector<int> further_places(const chosen_device& chosen, std::size_t count) {
    std::string why_none;
    const std::size_t gpus = chosen.cuda ? device::cuda_devices(why_none).size() : 1;
    std::vector<int> more(count);
    for (std::size_t i = 0; i < count; ++i)
        more[i] = static_cast<int>((static_cast<std::size_t>(chosen.ordinal) + 1 + i) % gpus);
    return more;
}

}  // namespace quern
