// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "quern/base/choose_device.hpp"

namespace quern {

/// The first `count` (at least 1) of the chosen devices, all if there are fewer: for inputs that do not pay for more.
inline chosen_device first_devices(chosen_device chosen, std::size_t count) {
    if (count > chosen.more.size()) return chosen;
    chosen.more.resize(count - 1);
    if (!chosen.cuda) return chosen;
    chosen.name = "cuda:" + std::to_string(chosen.ordinal);
    for (const int ordinal : chosen.more) chosen.name += "," + std::to_string(ordinal);
    return chosen;
}

}  // namespace quern
