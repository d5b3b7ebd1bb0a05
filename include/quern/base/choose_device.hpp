// SPDX-License-Identifier: Apache-2.0
// The device on which an operation runs on this machine, and the reason.
#pragma once

#include <string>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern {

/// The chosen device and the reason, as in the log and --stats.
struct chosen_device {
    bool cuda = false;
    int ordinal = 0;     ///< the N of cuda:N
    std::string name;    ///< "cpu", "cuda:0"
    std::string reason;  ///< "requested", "NVIDIA H200, which works", "there is no NVIDIA driver: …"
};

/// Supported devices of an operation: the CPU; the CPU or one GPU; the CPU, or one or several GPUs.
enum class offered_places { cpu_only, all, several_gpus };

/// Resolves context::device on this machine. `automatic` chooses the first working GPU, else the CPU, and logs
/// the choice and the reason if there is one: an operation with code for both, a program built with CUDA. A GPU
/// works if a small kernel has run on it with the correct result. If all GPUs are requested and the operation
/// uses one, logs which one. Throws usage_error for CUDA if the operation runs only on the CPU ("OPERATION runs
/// on cpu only"), device_error if CUDA is requested but unavailable; never falls back silently.
chosen_device choose_device(const context& ctx, std::string_view operation,
                            offered_places offered = offered_places::all);

/// For operations that run only on the CPU: throws the same usage_error if `ctx` requests CUDA.
void require_cpu(const context& ctx, std::string_view operation);

}  // namespace quern
