// SPDX-License-Identifier: Apache-2.0
// The device on which an operation runs on this machine, and the reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

/// The chosen device and the reason, as in the log and --stats.
struct chosen_device {
    bool cuda = false;
    int ordinal = 0;     ///< the N of cuda:N
    std::string name;    ///< "cpu", "cuda:0", "cuda:0,1"
    std::string reason;  ///< "requested", "NVIDIA H200, which works", "there is no NVIDIA driver: …"
    /// Further GPUs, for operations that can use several. (In tests also of the CPU: each is one more place.)
    std::vector<int> more = {};
};

/// Supported devices of an operation: the CPU; the CPU or one GPU; the CPU, or one or several GPUs.
enum class offered_places { cpu_only, all, several_gpus };

/// Resolves context::device on this machine. `automatic` chooses the first working GPU, else the CPU, and logs
/// the choice and the reason if there is one: an operation with code for both, a program built with CUDA. A GPU
/// works if a small kernel has run on it with the correct result. cuda:all is every GPU that works; those that do not
/// are logged. If several are requested and the operation uses one, it is the first, and the log says so. Throws usage_error for CUDA if the operation runs only on the CPU ("OPERATION runs
/// on cpu only"), device_error if CUDA is requested but unavailable; never falls back silently.
chosen_device choose_device(const context& ctx, std::string_view operation,
                            offered_places offered = offered_places::all);

/// The request for exactly these devices.
device_choice choice_of(const chosen_device& chosen);

/// For operations that run only on the CPU: throws the same usage_error if `ctx` requests CUDA.
void require_cpu(const context& ctx, std::string_view operation);

}  // namespace quern
