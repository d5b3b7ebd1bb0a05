// SPDX-License-Identifier: Apache-2.0
// A program of the system as a guarded child: no shell, no environment of ours, limits on its time, memory and output.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "device/files/descriptor.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

struct child_limits {
    std::chrono::seconds processor_time{60};
    /// From start to end: for a child that waits. Much longer, so that on a busy machine the same files are read.
    std::chrono::seconds time{600};
    std::uint64_t address_space = 2ULL << 30;
};

struct child_result {
    std::string output, errors;  ///< of `errors` the first 4 KiB
    int status = 0;              ///< its exit status
    int signal = 0;              ///< that ended it; 0: it exited
    bool timed_out = false;
};

/// Runs `program`, an absolute path, with `input` as its standard input, and waits for its end. The child writes no files.
/// `check_room` is called with the bytes of output so far and may throw: then, and if the run is stopped (interrupted), the
/// child is killed and waited for. The limits hold from its first instruction. Safe in a process with threads. Throws io_error if
/// it cannot be started.
child_result run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                         const descriptor& input, const child_limits& limits, const context& ctx,
                         const std::function<void(std::uint64_t)>& check_room);

}  // namespace quern::io
