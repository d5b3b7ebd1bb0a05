// SPDX-License-Identifier: Apache-2.0
#include "tasks/cluster/worker_gpus.hpp"

#include <algorithm>

#include "device/devices.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {

std::vector<std::string> shared_gpus(unsigned workers, std::string_view visible, std::size_t count) {
    if (count < 2) return {};
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin < visible.size() && names.size() < count;) {
        const std::size_t end = std::min(visible.find(',', begin), visible.size());
        names.emplace_back(visible.substr(begin, end - begin));
        begin = end + 1;
    }
    while (names.size() < count) names.push_back(std::to_string(names.size()));
    std::vector<std::string> of_worker(std::clamp<std::size_t>(workers, 1, count));
    for (std::size_t i = 0; i < count; ++i) {
        std::string& mine = of_worker[i % of_worker.size()];
        mine += (mine.empty() ? "" : ",") + names[i];
    }
    return of_worker;
}

std::vector<std::string> gpus_of_workers(unsigned workers, std::string_view visible) {
    std::string why_none;
    return shared_gpus(workers, visible, device::cuda_devices(why_none).size());
}

}  // namespace quern
