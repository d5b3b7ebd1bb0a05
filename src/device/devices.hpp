// SPDX-License-Identifier: Apache-2.0
// Which GPUs this machine has, and whether they can be used. Queries the driver itself, loaded at run time and never
// linked, so that one program starts on machines with and without a driver and can report what is missing. (The CUDA
// runtime would report "no device" both for an absent driver and for a machine without GPUs.)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/choose_device.hpp"

namespace quern::device {

struct cuda_device_info {
    int ordinal = 0;  ///< the N of cuda:N, in the driver's order
    std::string name;
    int compute_major = 0, compute_minor = 0;
    std::uint64_t memory_bytes = 0;
    std::string uuid =
        {};  ///< "GPU-" and 32 hexadecimal digits, as nvidia-smi -L; empty if the driver does not say
    int driver_version = 0;  ///< the newest CUDA version the driver supports: 13000 for 13.0
};

/// The GPUs that the driver shows this process. If there are none, `why_none` gives the reason in one sentence without
/// a final full stop; it is empty otherwise. Never throws for what it finds.
std::vector<cuda_device_info> cuda_devices(std::string& why_none);

/// The same, with another name for the driver's library: for tests.
std::vector<cuda_device_info> cuda_devices(const char* library, std::string& why_none);

struct cuda_runtime_report {
    bool works = false;
    std::string note;                               ///< what was run, or why it could not be run
    std::uint64_t free_bytes = 0, total_bytes = 0;  ///< of the GPU's memory, if it works
    std::string kernels = {}, about_kernels = {};   ///< "Hopper" or "portable", and why, if it works
};

/// A function of the installed driver, for what the runtime library lacks; null without a driver, or in an older one.
void* driver_function(const char* symbol);

/// Whether this program can compute on GPU `ordinal`: runs a small kernel there and checks every value it wrote.
/// Reports a program built without CUDA. Takes milliseconds, longer for the first call of a process; does not wait for
/// other work on the device. Makes the GPU current for the calling thread.
cuda_runtime_report check_cuda_runtime(int ordinal);

/// "13.0" for 13000.
std::string cuda_version_text(int version);

/// choose_device() on any machine: its queries of the machine are functions, so that tests can simulate GPUs.
struct machine {
    bool has_cuda = false;  ///< whether the program has a CUDA back end
    std::function<std::vector<cuda_device_info>(std::string& why_none)> gpus;
    std::function<cuda_runtime_report(int ordinal)> check;
};

/// As quern::choose_device().
chosen_device choose_on(const machine& here, const context& ctx, std::string_view operation,
                        offered_places offered);

/// Defined only if the program is built with CUDA.
cuda_runtime_report probe_cuda_runtime(int ordinal);
/// The compute capabilities of the program's code for GPUs: "7.5, 8.0, 9.0". Defined only if it is built with CUDA.
std::string compiled_architectures();

}  // namespace quern::device
