// SPDX-License-Identifier: Apache-2.0
// What a run may use, and whom it tells: threads, memory, scratch space, a stop flag, progress and log.
// Library code takes a context; it never prints, exits or reads the environment.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace quern {

enum class log_level { info, warning };

/// How far the current stage is. `total` is 0 where it cannot be known (a pipe).
struct progress {
    std::string_view stage;
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    std::string_view unit;  ///< what is counted: "bytes", "documents", "words"
};

/// Where operations are to run.
struct device_choice {
    enum class kind { automatic, cpu, cuda };
    kind where = kind::automatic;
    int ordinal = any_ordinal;  ///< for cuda: the N of cuda:N

    static constexpr int any_ordinal = -1;  ///< the first that works
    static constexpr int all_ordinals =
        -2;  ///< every GPU of the machine, for operations that can use several
    bool operator==(const device_choice&) const = default;
};

/// Resources and listeners of a run. Plain values; copies share nothing but the flag pointed to.
/// The callbacks are called from one thread at a time, in no particular thread.
struct context {
    device_choice device;            ///< automatic: a GPU where there is one that works, else the CPU
    unsigned threads = 0;            ///< 0: every core this process may use
    std::uint64_t memory_bytes = 0;  ///< budget for the whole process; 0: three quarters of the limit seen
    std::uint64_t gpu_memory_bytes = 0;  ///< budget on each GPU; 0: nine tenths of what is free there
    std::filesystem::path scratch;       ///< folder for spilled runs; empty: /tmp
    std::uint64_t scratch_bytes = 0;  ///< budget there of each sort beyond memory; 0: what the disk has free
    std::uint64_t seed = 0;
    const std::atomic<int>* stop_signal = nullptr;  ///< non-zero: stop soon, with this signal's number
    std::function<void(const progress&)> on_progress;
    std::function<void(log_level, std::string_view)> on_log;

    static context cpu(unsigned threads = 0);
    /// CUDA or nothing: an operation that cannot have it throws device_error.
    static context cuda(int ordinal = device_choice::any_ordinal);
    static context best() { return {}; }

    /// Throws `interrupted` when the stop flag is raised; cheap enough for every document.
    void check_stop() const;
    void log(log_level level, std::string_view message) const;
    void report(const progress& now) const;

    unsigned thread_count() const;       ///< `threads`, or what 0 stands for; at least 1
    std::uint64_t memory_limit() const;  ///< `memory_bytes`, or what 0 stands for
    std::filesystem::path scratch_folder() const;
};

/// The memory this process may use: the smaller of physical memory and its control group's limit.
std::uint64_t memory_limit_seen();

}  // namespace quern
