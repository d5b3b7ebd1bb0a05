// SPDX-License-Identifier: Apache-2.0
#include "quern/base/context.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "device/cpu/available_threads.hpp"
#include "device/files/mapped_pages.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

/// The limit in one control-group file, or the largest number if there is none ("max", no such file).
std::uint64_t limit_in(const std::string& path) {
    std::ifstream file(path);
    std::uint64_t bytes = 0;
    return file >> bytes ? bytes : UINT64_MAX;
}

/// The smallest limit of this process's control group and of all groups around it (version 2, or version 1's memory
/// controller).
std::uint64_t control_group_limit() {
    std::uint64_t least = UINT64_MAX;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t controllers = line.find(':'), path = line.find(':', controllers + 1);
        if (path == std::string::npos) continue;
        const std::string named = line.substr(controllers + 1, path - controllers - 1);
        const bool second = named.empty();
        if (!second && named.find("memory") == std::string::npos) continue;
        const std::string root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const std::string file = second ? "/memory.max" : "/memory.limit_in_bytes";
        for (std::string group = line.substr(path + 1);; group.resize(group.rfind('/'))) {
            while (group.ends_with('/')) group.pop_back();
            if (group.find('/') == std::string::npos) group.clear();
            least = std::min(least, limit_in(std::string(root).append(group).append(file)));
            if (group.empty()) break;
        }
    }
    return least;
}

}  // namespace

std::uint64_t memory_limit_seen() {
    const auto physical = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
    return std::min(physical, control_group_limit());
}

context context::cpu(unsigned threads) {
    context made;
    made.device.where = device_choice::kind::cpu;
    made.threads = threads;
    return made;
}

context context::cuda(int ordinal) {
    context made;
    made.device = {device_choice::kind::cuda, ordinal};
    return made;
}

void context::check_stop() const {
    give_back_mapped_pages();
    if (stop_signal == nullptr) return;
    if (const int signal = stop_signal->load(std::memory_order_relaxed); signal != 0) {
        throw interrupted(signal);
    }
}

void context::log(log_level level, std::string_view message) const {
    if (on_log) on_log(level, message);
}

void context::report(const progress& now) const {
    if (on_progress) on_progress(now);
}

unsigned context::thread_count() const {
    if (threads != 0) return available_threads(threads);
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return available_threads(static_cast<unsigned>(std::max(1, CPU_COUNT(&set))));
}

std::uint64_t context::memory_limit() const {
    return memory_bytes != 0 ? memory_bytes : memory_limit_seen() / 4 * 3;
}

std::filesystem::path context::scratch_folder() const {
    return scratch.empty() ? std::filesystem::path("/tmp") : scratch;
}

}  // namespace quern
