// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on one GPU and checks all it wrote: driver, runtime, code for this architecture, memory in
// both directions. A device that counts and names itself well can still fail each of these.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/cuda/runtime_probe.hpp"

namespace quern::device {
namespace {

constexpr unsigned values = 100'003;  // prime: the last block is not full
constexpr unsigned block_threads = 256;

__host__ __device__ constexpr std::uint32_t pattern(std::uint32_t i) {
    return i * 2654435761u ^ 0x9e3779b9u;
}

/// One thread, one value. Any grid that covers `count`; no shared memory.
__global__ void write_pattern_kernel(std::uint32_t* out, unsigned count) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = pattern(i);
}

/// Device memory, freed with its owner.
class device_words {
  public:
    device_words() = default;
    device_words(const device_words&) = delete;  // an owner of memory
    device_words& operator=(const device_words&) = delete;
    ~device_words() { cudaFree(data_); }
    cudaError_t allocate(std::size_t count) { return cudaMalloc(&data_, count * sizeof *data_); }
    std::uint32_t* data() const { return data_; }

  private:
    std::uint32_t* data_ = nullptr;
};

cuda_runtime_report failed(const char* step, cudaError_t error) {
    static_cast<void>(cudaGetLastError());  // the next caller starts clean
    return {false, std::string(step) + ": " + cudaGetErrorString(error)};
}

}  // namespace

cuda_runtime_report probe_cuda_runtime(int ordinal) {
    int driver = 0, runtime = 0;
    if (const auto error = cudaRuntimeGetVersion(&runtime)) return failed("cudaRuntimeGetVersion", error);
    if (const auto error = cudaDriverGetVersion(&driver)) return failed("cudaDriverGetVersion", error);
    if (driver == 0) return {false, "there is no NVIDIA driver"};
    if (driver / 1000 < runtime / 1000) {
        return {false, "the driver speaks CUDA " + cuda_version_text(driver) +
                           " at most, this program needs " + cuda_version_text(runtime / 1000 * 1000)};
    }
    if (const auto error = cudaSetDevice(ordinal)) return failed("cudaSetDevice", error);
    device_words words;
    if (const auto error = words.allocate(values)) return failed("cudaMalloc", error);
    write_pattern_kernel<<<(values + block_threads - 1) / block_threads, block_threads>>>(words.data(),
                                                                                          values);
    if (const auto error = cudaGetLastError()) return failed("a kernel's launch", error);
    std::vector<std::uint32_t> seen(values);
    if (const auto error =
            cudaMemcpy(seen.data(), words.data(), values * sizeof(std::uint32_t), cudaMemcpyDeviceToHost)) {
        return failed("a kernel's run", error);
    }
    for (std::uint32_t i = 0; i < values; ++i) {
        if (seen[i] != pattern(i)) return {false, "a kernel wrote a wrong value at " + std::to_string(i)};
    }
    return {true,
            "CUDA runtime " + cuda_version_text(runtime) + ", a kernel ran and all its values were right"};
}

}  // namespace quern::device
