// SPDX-License-Identifier: Apache-2.0
// How the workers of one machine share its GPUs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// What gpus_of_workers() returns where the driver shows `count` GPUs.
std::vector<std::string> shared_gpus(unsigned workers, std::string_view visible, std::size_t count);

}  // namespace quern
