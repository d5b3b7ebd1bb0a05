// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/statistics.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

namespace quern {

std::uint64_t peak_memory_bytes() {
    // The kernel's high-water mark of this program. Not getrusage: its mark is inherited through exec, so that a small
    // program started by a large one seems large.
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

namespace {

double seconds_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

double process_cpu_seconds() {
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double thread_cpu_seconds() {
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

std::string to_json(const run_statistics& statistics) {
    nlohmann::ordered_json json;
    json["seconds"] = statistics.seconds;
    auto& stages = json["stages"] = nlohmann::ordered_json::array();
    for (const stage_statistics& stage : statistics.stages) {
        stages.push_back({{"name", stage.name},
                          {"seconds", stage.seconds},
                          {"thread_seconds", stage.thread_seconds},
                          {"bytes", stage.bytes}});
    }
    json["counts"] = statistics.counts;
    if (!statistics.measures.empty()) json["measures"] = statistics.measures;
    for (const auto& [name, value] : statistics.outcome) json[name] = value;
    json["peak_memory_bytes"] = statistics.peak_memory_bytes;
    json["threads"] = statistics.threads;
    json["device"] = statistics.device;
    json["device_reason"] = statistics.device_reason;
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

bool is_statistics(std::string_view text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return false;
    const auto keys = nlohmann::json::parse(to_json({}));
    return std::ranges::all_of(keys.items(), [&](const auto& item) { return json.contains(item.key()); });
}

}  // namespace quern
