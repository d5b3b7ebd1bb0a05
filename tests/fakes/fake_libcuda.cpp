// SPDX-License-Identifier: Apache-2.0
// A driver library with two GPUs that do not exist, for tests of src/device/devices.cpp. FAKE_CUDA chooses
// what goes wrong: "init" and "device" fail with error 999, "none" reports that there is no GPU, "zero"
// counts none.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

bool reported(std::string_view mode) {
    const char* set = std::getenv("FAKE_CUDA");
    return set != nullptr && mode == set;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
    if (reported("none")) return 100;
    return reported("init") ? 999 : 0;
}
int cuDriverGetVersion(int* version) {
    return *version = 13020, 0;
}
int cuDeviceGetCount(int* count) {
    return *count = reported("zero") ? 0 : 2, 0;
}
int cuDeviceGet(int* device, int ordinal) {
    *device = 40 + ordinal;
    return reported("device") && ordinal == 1 ? 999 : 0;
}
int cuDeviceGetName(char* name, int length, int device) {
    std::strncpy(name, device == 40 ? "Fake One" : "Fake Two", static_cast<std::size_t>(length));
    return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    *value = attribute == 75 ? 9 : device - 40;
    return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
    *bytes = (static_cast<std::size_t>(device) - 39) << 34;
    return 0;
}
int cuDeviceGetUuid_v2(unsigned char* bytes, int device) {
    for (int i = 0; i < 16; ++i) bytes[i] = static_cast<unsigned char>(16 * (device - 40) + i);
    return 0;
}
int cuGetErrorString(int error, const char** text) {
    *text = error == 999 ? "fake failure" : nullptr;
    return 0;
}
}
