// SPDX-License-Identifier: Apache-2.0
#include "device/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace quern::device::devices_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The fake driver of tests/fakes, in the mode named by its FAKE_CUDA variable.
std::vector<cuda_device_info> fake_devices(const char* mode, std::string& why_none) {
    setenv("FAKE_CUDA", mode, 1);
    auto devices = cuda_devices("libfake_libcuda.so", why_none);
    unsetenv("FAKE_CUDA");
    return devices;
}

TEST(cuda_devices, describes_every_gpu) {
    std::string why_none = "left over";
    const auto devices = fake_devices("", why_none);
    EXPECT_THAT(why_none, IsEmpty());
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[1].ordinal, 1);
    EXPECT_EQ(devices[0].name, "Fake One");
    EXPECT_EQ(devices[1].name, "Fake Two");
    EXPECT_EQ(devices[1].compute_major, 9);
    EXPECT_EQ(devices[1].compute_minor, 1);
    EXPECT_EQ(devices[0].memory_bytes, std::uint64_t{16} << 30);
    EXPECT_EQ(devices[1].memory_bytes, std::uint64_t{32} << 30);
    EXPECT_EQ(devices[0].driver_version, 13020);
    EXPECT_EQ(devices[0].uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
    EXPECT_EQ(devices[1].uuid, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
}

TEST(cuda_devices, says_why_there_is_none) {
    std::string why_none;
    EXPECT_THAT(cuda_devices("libcuda-of-no-machine.so.1", why_none), IsEmpty());
    EXPECT_THAT(why_none, HasSubstr("no NVIDIA driver"));
    EXPECT_THAT(why_none, HasSubstr("libcuda-of-no-machine.so.1"));
    EXPECT_THAT(cuda_devices("libc.so.6", why_none), IsEmpty());
    EXPECT_EQ(why_none, "the NVIDIA driver is too old: it lacks cuInit");
    for (const char* mode : {"none", "zero"}) {
        EXPECT_THAT(fake_devices(mode, why_none), IsEmpty());
        EXPECT_THAT(why_none, HasSubstr("no GPU")) << mode;
    }
    EXPECT_THAT(fake_devices("init", why_none), IsEmpty());
    EXPECT_EQ(why_none, "the driver answered \"fake failure\" (999) to cuInit");
    EXPECT_THAT(fake_devices("device", why_none), IsEmpty());
    EXPECT_EQ(why_none, "the driver answered \"fake failure\" (999) to a query of GPU 1");
}

TEST(cuda_devices, of_this_machine_are_there_or_explained) {
    std::string why_none;
    const auto devices = cuda_devices(why_none);
    EXPECT_EQ(devices.empty(), !why_none.empty()) << why_none;
    for (const auto& device : devices) {
        EXPECT_FALSE(device.name.empty());
        EXPECT_GT(device.memory_bytes, 0u);
        EXPECT_GT(device.compute_major, 0);
    }
}

TEST(cuda_runtime, works_on_every_gpu_it_was_built_for_or_says_why_not) {
    std::string why_none;
    const auto devices = cuda_devices(why_none);
    if (devices.empty()) {
        const auto report = check_cuda_runtime(0);
        EXPECT_FALSE(report.works);
        EXPECT_FALSE(report.note.empty());
        GTEST_SKIP() << why_none;
    }
    for (const auto& device : devices) {
        const auto report = check_cuda_runtime(device.ordinal);
        if (report.note == "this program was built without CUDA") GTEST_SKIP() << report.note;
        EXPECT_TRUE(report.works) << report.note;
    }
}

TEST(cuda_version_text, is_major_and_minor) {
    EXPECT_EQ(cuda_version_text(13000), "13.0");
    EXPECT_EQ(cuda_version_text(12080), "12.8");
}

}  // namespace
}  // namespace quern::device::devices_test
