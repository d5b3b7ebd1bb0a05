// SPDX-License-Identifier: Apache-2.0
// Where an operation will run on this machine, and why.
#pragma once

#include <string>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern {

/// Where an operation will run, and why, as the log and --stats say it.
struct chosen_device {
    bool cuda = false;
    int ordinal = 0;     ///< the N of cuda:N
    std::string name;    ///< "cpu", "cuda:0"
    std::string reason;  ///< "asked for", "NVIDIA H200, which works", "there is no NVIDIA driver: …"
};

/// What an operation can run on.
enum class offered_places { cpu_only, all };

/// What context::device comes to on this machine. `automatic` takes the first GPU that works, else the CPU, and
/// logs which and why where there was a choice: an operation with code for both, a program built with CUDA. Throws usage_error for CUDA where the operation runs on the CPU only ("OPERATION runs on
/// cpu only"), device_error where CUDA is asked for and cannot be had; it never falls back silently. A GPU works
/// when a small kernel ran on it and wrote what it should.
chosen_device choose_device(const context& run, std::string_view operation,
                            offered_places offered = offered_places::all);

/// The door of an operation that runs on the CPU only: throws the same usage_error where `run` asks for CUDA.
void require_cpu(const context& run, std::string_view operation);

}  // namespace quern
