// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on one GPU and checks everything it wrote: driver, runtime, code for this architecture, memory in
// both directions. A device that is listed and named correctly can still fail each of these.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/abilities.hpp"
#include "device/devices.hpp"
#include "quern/base/error.hpp"

namespace quern::device {
namespace {

constexpr unsigned values = 100'003;  // prime: the last block is not full
constexpr unsigned block_threads = 256;

__host__ __device__ constexpr std::uint32_t pattern(std::uint32_t i) {
    return i * 2654435761u ^ 0x9e3779b9u;
}

/// One thread writes one value. Any grid that covers `count`; no shared memory.
__global__ void write_pattern_kernel(std::uint32_t* out, unsigned count) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = pattern(i);
}

/// Device resources of the probe, freed with their owner. It has a separate stream: the default one would wait for all
/// other work of the process.
class probe_resources {
  public:
    probe_resources() = default;
    probe_resources(const probe_resources&) = delete;  // one owner
    probe_resources& operator=(const probe_resources&) = delete;
    ~probe_resources() {
        cudaFree(words_);
        if (stream_ != nullptr) cudaStreamDestroy(stream_);
    }
    cudaError_t take(std::size_t count) {
        if (const auto error = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)) return error;
        return cudaMalloc(&words_, count * sizeof *words_);
    }
    std::uint32_t* words() const { return words_; }
    cudaStream_t stream() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
    std::uint32_t* words_ = nullptr;
};

cuda_runtime_report failed(const char* step, cudaError_t error) {
    static_cast<void>(cudaGetLastError());  // leaves no error for the next caller
    std::string why = std::string(step) + ": " + cudaGetErrorString(error);
    if (error == cudaErrorNoKernelImageForDevice)
        why += "; this program has code for the compute capabilities " + compiled_architectures() +
               "; please build it with the preset cuda-all";
    return {false, std::move(why), 0, 0};
}

std::string capability_text(int architecture) {
    return std::to_string(architecture / 10) + "." + std::to_string(architecture % 10);
}

/// Empty if the device is new enough.
std::string why_too_old(int ordinal) {
    int major = 0, minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return {};  // a later step reports it
    }
    if (10 * major + minor >= static_cast<int>(cuda::min_architecture)) return {};
    return "its compute capability is " + capability_text(10 * major + minor) + ", and Quern needs " +
           capability_text(cuda::min_architecture) + " or newer (NVIDIA Turing, 2018)";
}

/// Which kernels the device gets, and why.
void describe_kernels(const cuda::abilities& may, cuda_runtime_report& report) {
    report.kernels = may.hopper() ? "Hopper" : "portable";
    report.about_kernels = "its code is for compute capability " +
                           capability_text(static_cast<int>(may.architecture)) + "; a block uses up to " +
                           std::to_string(may.shared_bytes >> 10) +
                           " KiB of shared memory; the results are the same bits";
}

}  // namespace

std::string compiled_architectures() {
    std::string all;
    for (const int architecture : {__CUDA_ARCH_LIST__})
        all += (all.empty() ? "" : ", ") + capability_text(architecture / 10);
    return all;
}

cuda_runtime_report probe_cuda_runtime(int ordinal) {
    int driver = 0, runtime = 0;
    if (const auto error = cudaRuntimeGetVersion(&runtime)) return failed("cudaRuntimeGetVersion", error);
    if (const auto error = cudaDriverGetVersion(&driver)) return failed("cudaDriverGetVersion", error);
    if (driver == 0) return {false, "there is no NVIDIA driver", 0, 0};
    if (driver / 1000 < runtime / 1000) {
        return {false,
                "the driver supports CUDA " + cuda_version_text(driver) + " at most, this program needs " +
                    cuda_version_text(runtime / 1000 * 1000),
                0, 0};
    }
    if (std::string why = why_too_old(ordinal); !why.empty()) return {false, std::move(why), 0, 0};
    if (const auto error = cudaSetDevice(ordinal)) return failed("cudaSetDevice", error);
    probe_resources taken;
    if (const auto error = taken.take(values)) return failed("a stream and memory", error);
    write_pattern_kernel<<<(values + block_threads - 1) / block_threads, block_threads, 0, taken.stream()>>>(
        taken.words(), values);
    if (const auto error = cudaGetLastError()) return failed("a kernel's launch", error);
    std::vector<std::uint32_t> seen(values);
    if (const auto error = cudaMemcpyAsync(seen.data(), taken.words(), values * sizeof(std::uint32_t),
                                           cudaMemcpyDeviceToHost, taken.stream())) {
        return failed("a copy of what a kernel wrote", error);
    }
    if (const auto error = cudaStreamSynchronize(taken.stream())) return failed("a kernel's run", error);
    for (std::uint32_t i = 0; i < values; ++i) {
        if (seen[i] != pattern(i)) {
            return {false, "a kernel wrote a wrong value at " + std::to_string(i), 0, 0};
        }
    }
    std::size_t free = 0, total = 0;
    if (const auto error = cudaMemGetInfo(&free, &total)) return failed("cudaMemGetInfo", error);
    cuda_runtime_report report{
        true, "CUDA runtime " + cuda_version_text(runtime) + ", a kernel ran and all its values were right",
        free, total};
    try {
        describe_kernels(cuda::abilities_of(ordinal), report);
    } catch (const device_error& e) {
        return {false, e.what(), 0, 0};
    }
    return report;
}

}  // namespace quern::device
