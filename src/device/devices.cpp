// SPDX-License-Identifier: Apache-2.0
#include "device/devices.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <type_traits>

#include "device/place.hpp"

namespace quern::device {
namespace {

// The part of the driver's C interface in use, by its stable binary form (cuda.h, CUDA 11 to 13).
using result = int;
constexpr result no_device = 100;
constexpr int attribute_compute_major = 75, attribute_compute_minor = 76;

struct driver {
    result (*init)(unsigned flags) = nullptr;
    result (*version)(int* version) = nullptr;
    result (*count)(int* count) = nullptr;
    result (*get)(int* device, int ordinal) = nullptr;
    result (*name)(char* name, int length, int device) = nullptr;
    result (*attribute)(int* value, int attribute, int device) = nullptr;
    result (*memory)(std::size_t* bytes, int device) = nullptr;
    result (*error_text)(result error, const char** text) = nullptr;
    result (*uuid)(unsigned char* bytes, int device) = nullptr;  ///< 16 bytes; may be missing
};

/// Looks the functions up; returns the name of the first missing one, or null.
const char* look_up(void* library, driver& found) {
    const char* missing = nullptr;
    const auto bind = [&](auto& function, const char* symbol) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
        if (function == nullptr && missing == nullptr) missing = symbol;
    };
    bind(found.init, "cuInit");
    bind(found.version, "cuDriverGetVersion");
    bind(found.count, "cuDeviceGetCount");
    bind(found.get, "cuDeviceGet");
    bind(found.name, "cuDeviceGetName");
    bind(found.attribute, "cuDeviceGetAttribute");
    bind(found.memory, "cuDeviceTotalMem_v2");
    bind(found.error_text, "cuGetErrorString");
    found.uuid = reinterpret_cast<decltype(found.uuid)>(dlsym(library, "cuDeviceGetUuid_v2"));
    return missing;
}

/// "GPU-01020304-0506-0708-090a-0b0c0d0e0f10"
std::string uuid_text(const std::array<unsigned char, 16>& bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "GPU-";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

std::string explain(const driver& cuda, const char* requested, result error) {
    const char* text = nullptr;
    cuda.error_text(error, &text);
    return std::string("the driver answered \"") + (text != nullptr ? text : "unknown error") + "\" (" +
           std::to_string(error) + ") to " + requested;
}

/// Describes one GPU; the first error, or 0.
result describe(const driver& cuda, int ordinal, cuda_device_info& info) {
    int handle = 0;
    std::array<char, 256> name{};
    std::size_t bytes = 0;
    info.ordinal = ordinal;
    if (const result error = cuda.get(&handle, ordinal)) return error;
    if (const result error = cuda.name(name.data(), static_cast<int>(name.size()) - 1, handle)) return error;
    if (const result error = cuda.attribute(&info.compute_major, attribute_compute_major, handle))
        return error;
    if (const result error = cuda.attribute(&info.compute_minor, attribute_compute_minor, handle))
        return error;
    if (const result error = cuda.memory(&bytes, handle)) return error;
    info.name = name.data();
    info.memory_bytes = bytes;
    std::array<unsigned char, 16> uuid{};
    if (cuda.uuid != nullptr && cuda.uuid(uuid.data(), handle) == 0) info.uuid = uuid_text(uuid);
    return 0;
}

}  // namespace

std::vector<cuda_device_info> cuda_devices(std::string& why_none) {
    return cuda_devices("libcuda.so.1", why_none);
}

std::vector<cuda_device_info> cuda_devices(const char* library_name, std::string& why_none) {
    why_none.clear();
    // Never closed: the driver starts threads and does not expect to be unloaded.
    void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* reason = dlerror();
        why_none = "there is no NVIDIA driver: " + std::string(reason != nullptr ? reason : library_name);
        return {};
    }
    driver cuda;
    if (const char* missing = look_up(library, cuda)) {
        why_none = std::string("the NVIDIA driver is too old: it lacks ") + missing;
        return {};
    }
    int version = 0, count = 0;
    if (const result error = cuda.init(0)) {
        why_none = error == no_device ? "there is an NVIDIA driver but no GPU that this process may use"
                                      : explain(cuda, "cuInit", error);
        return {};
    }
    if (const result error = cuda.version(&version)) {
        why_none = explain(cuda, "cuDriverGetVersion", error);
        return {};
    }
    if (const result error = cuda.count(&count)) {
        why_none = explain(cuda, "cuDeviceGetCount", error);
        return {};
    }
    if (count == 0) {
        why_none = "there is an NVIDIA driver but no GPU that this process may use";
        return {};
    }
    std::vector<cuda_device_info> devices(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        auto& info = devices[static_cast<std::size_t>(i)];
        info.driver_version = version;
        if (const result error = describe(cuda, i, info)) {
            why_none = explain(cuda, ("a query of GPU " + std::to_string(i)).c_str(), error);
            return {};
        }
    }
    return devices;
}

void* driver_function(const char* symbol) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed, as above
    return library == nullptr ? nullptr : dlsym(library, symbol);
}

cuda_runtime_report check_cuda_runtime(int ordinal) {
    if constexpr (has_cuda) return probe_cuda_runtime(ordinal);
    return {false, "this program was built without CUDA", 0, 0};
}

std::string cuda_version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace quern::device
