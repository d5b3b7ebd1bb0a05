// SPDX-License-Identifier: Apache-2.0
// choose_device() on any machine: its queries of the machine are functions, so that tests can simulate GPUs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/devices.hpp"
#include "quern/base/choose_device.hpp"

namespace quern::device {

struct machine {
    bool has_cuda = false;  ///< whether the program has a CUDA back end
    std::function<std::vector<cuda_device_info>(std::string& why_none)> gpus;
    std::function<cuda_runtime_report(int ordinal)> check;
};

/// As quern::choose_device().
chosen_device choose_on(const machine& here, const context& ctx, std::string_view operation,
                        offered_places offered);

}  // namespace quern::device
