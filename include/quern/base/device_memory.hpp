// SPDX-License-Identifier: Apache-2.0
// Data in the memory of a GPU: where an argument lies, and memory for results. Has no CUDA types. A GPU has the number N
// of cuda:N. Every process uses a GPU in its primary context, as CUDA's runtime library and the frameworks on it do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace quern {

/// Where the data of a view lies. The default is the memory of the host.
struct data_location {
    static constexpr int host = -1;
    /// When the data on a GPU is complete: now; when the work that `stream` has at the time of the call is done; when
    /// all work that the GPU has then is done.
    enum class order { complete, after_stream, after_device };

    int ordinal = host;
    order ready = order::complete;
    void* stream = nullptr;  ///< a cudaStream_t of that GPU; null: the default stream

    constexpr bool on_device() const { return ordinal != host; }
    bool operator==(const data_location&) const = default;
};

/// "the host", "cuda:0".
std::string name_of(const data_location& location);

/// Whether this program was built with CUDA. Without, the functions below throw device_error.
bool has_device_memory() noexcept;

/// Where this address lies, by CUDA's driver, as data that is complete. Memory that the host can read, such as pinned
/// memory, is the host's.
data_location location_of(const void* address);

/// Data of a GPU to the host, once it is complete. Waits. Throws device_error.
void copy_to_host(const data_location& from, const void* data, std::span<std::byte> to);

/// Memory of a GPU that every library of the process can use, for results. Move-only.
class device_memory {
  public:
    device_memory() = default;
    /// Not initialised, aligned to 256 bytes. Throws out_of_memory, device_error.
    device_memory(int ordinal, std::uint64_t bytes);
    device_memory(device_memory&& other) noexcept { swap(other); }
    device_memory& operator=(device_memory&& other) noexcept {
        device_memory(static_cast<device_memory&&>(other)).swap(*this);
        return *this;
    }
    /// Waits for all work of the GPU, which may use the memory.
    ~device_memory();
    void swap(device_memory& other) noexcept;

    /// From the host, to the beginning. The copy is complete when this returns: any stream may use it. Throws
    /// usage_error if there are more bytes than the memory has, device_error.
    void copy_in(std::span<const std::byte> from);

    void* data() const noexcept { return data_; }  ///< null for 0 bytes
    std::uint64_t size() const noexcept { return bytes_; }
    int ordinal() const noexcept { return ordinal_; }

  private:
    int ordinal_ = data_location::host;
    void* data_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace quern
