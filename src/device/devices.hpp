// SPDX-License-Identifier: Apache-2.0
// Which GPUs this machine has, and whether they can be used: asked of the driver itself, loaded when asked
// and never linked, so that one program starts on machines with and without a driver and can say what is
// missing. (The CUDA runtime would report "no device" for an absent driver and for an empty machine alike.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quern::device {

struct cuda_device_info {
    int ordinal = 0;  ///< the N of cuda:N, in the driver's order
    std::string name;
    int compute_major = 0, compute_minor = 0;
    std::uint64_t memory_bytes = 0;
    int driver_version = 0;  ///< the newest CUDA the driver speaks: 13000 for 13.0
};

/// The GPUs the driver shows this process. Where there is none, `why_none` says why in one sentence, without
/// a final stop, and is empty otherwise. Never throws for what it finds.
std::vector<cuda_device_info> cuda_devices(std::string& why_none);

/// The same, with the driver's library under another name: for tests.
std::vector<cuda_device_info> cuda_devices(const char* library, std::string& why_none);

struct cuda_runtime_report {
    bool works = false;
    std::string note;                               ///< what was run, or why it could not be
    std::uint64_t free_bytes = 0, total_bytes = 0;  ///< of the GPU's memory, where it works
};

/// Whether this program can compute on GPU `ordinal`: runs a small kernel there and checks every value it
/// wrote. Says so where the program was built without CUDA. Takes milliseconds, the first time in a process longer;
/// what else runs on the device is not waited for. The GPU becomes the calling thread's current one.
cuda_runtime_report check_cuda_runtime(int ordinal);

/// "13.0" for 13000.
std::string cuda_version_text(int version);

}  // namespace quern::device
