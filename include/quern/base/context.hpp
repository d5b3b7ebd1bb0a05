// SPDX-License-Identifier: Apache-2.0
// The resources and listeners of a run: threads, memory, scratch space, a stop flag, progress and log. Library
// code takes a context; it never prints, exits or reads the environment.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

enum class log_level { info, warning };

/// Progress of the current stage. `total` is 0 if it is unknown (a pipe).
struct progress {
    std::string_view stage;
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    std::string_view unit;  ///< of the counts: "bytes", "documents", "words"
};

/// The requested device.
struct device_choice {
    enum class kind { automatic, cpu, cuda };
    kind where = kind::automatic;
    int ordinal = any_ordinal;   ///< for cuda: the N of cuda:N
    std::vector<int> more = {};  ///< for cuda: further GPUs, as 1 and 2 of cuda:0,1,2

    static constexpr int any_ordinal = -1;   ///< the first working one
    static constexpr int all_ordinals = -2;  ///< all that work, for operations that can use several
    bool operator==(const device_choice&) const = default;
};

/// Resources and listeners of a run. Plain values; copies share only the flag that they point to. Any thread
/// may call the callbacks, but only one at a time.
struct context {
    device_choice device;                ///< automatic: a working GPU if there is one, else the CPU
    unsigned threads = 0;                ///< 0: all cores that this process may use
    std::uint64_t memory_bytes = 0;      ///< budget of the process; 0: three quarters of the detected limit
    std::uint64_t gpu_memory_bytes = 0;  ///< budget on each GPU; 0: nine tenths of its free memory
    std::filesystem::path scratch;       ///< folder for spilled runs; empty: /tmp
    std::uint64_t scratch_bytes = 0;     ///< budget there of each external sort; 0: the free disk space
    std::uint64_t seed = 0;
    const std::atomic<int>* stop_signal = nullptr;  ///< non-zero: stop soon, with this signal's number
    std::function<void(const progress&)> on_progress;
    std::function<void(log_level, std::string_view)> on_log;

    static context cpu(unsigned threads = 0);
    /// Requires CUDA: an operation throws device_error if it is unavailable.
    static context cuda(int ordinal = device_choice::any_ordinal);
    static context best() { return {}; }

    /// Throws `interrupted` if the stop flag is set; cheap enough for every document.
    void check_stop() const;
    void log(log_level level, std::string_view message) const;
    void report(const progress& now) const;

    unsigned thread_count() const;       ///< `threads`, with 0 resolved; at least 1
    std::uint64_t memory_limit() const;  ///< `memory_bytes`, with 0 resolved
    std::filesystem::path scratch_folder() const;
};

/// The memory this process may use: the smaller of physical memory and its control group's limit.
std::uint64_t memory_limit_seen();

}  // namespace quern
