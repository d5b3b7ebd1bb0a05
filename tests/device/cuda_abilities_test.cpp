// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cuda/abilities.hpp"
#include "quern/base/error.hpp"

namespace quern::cuda::cuda_abilities_test {
namespace {

constexpr std::size_t kibibyte = 1024;

TEST(cuda_abilities, hopper_kernels_need_its_architecture_with_its_memory) {
    EXPECT_TRUE((abilities{90, 227 * kibibyte}.hopper()));
    EXPECT_TRUE((abilities{100, 227 * kibibyte}.hopper()));
    EXPECT_FALSE((abilities{89, 99 * kibibyte}.hopper()));
    EXPECT_FALSE((abilities{80, 227 * kibibyte}.hopper())) << "code for 8.0 on a newer device";
    EXPECT_FALSE((abilities{120, 99 * kibibyte}.hopper()));
    EXPECT_TRUE((abilities{120, 99 * kibibyte}.starts_early()));
    EXPECT_FALSE((abilities{86, 99 * kibibyte}.starts_early()));
}

TEST(cuda_abilities, a_limit_takes_architecture_and_memory) {
    const abilities all = limited_abilities(90, 227 * kibibyte, nullptr);
    EXPECT_EQ(all.architecture, 90);
    EXPECT_EQ(all.shared_bytes, 227 * kibibyte);
    const abilities turing = limited_abilities(90, 227 * kibibyte, "75");
    EXPECT_EQ(turing.architecture, 75);
    EXPECT_EQ(turing.shared_bytes, 64 * kibibyte);
    EXPECT_EQ(limited_abilities(90, 227 * kibibyte, "80").shared_bytes, 163 * kibibyte);
    EXPECT_EQ(limited_abilities(90, 227 * kibibyte, "120").architecture, 90);
    EXPECT_EQ(limited_abilities(90, 227 * kibibyte, "120").shared_bytes, 99 * kibibyte);
    EXPECT_EQ(limited_abilities(75, 64 * kibibyte, "90").shared_bytes, 64 * kibibyte)
        << "no more than the device";
}

TEST(cuda_abilities, refuses_what_is_no_architecture) {
    for (const char* wrong : {"7.5", "70", "hopper", "90a", "-90", "1000"})
        EXPECT_THROW(limited_abilities(90, 227 * kibibyte, wrong), device_error) << wrong;
    EXPECT_EQ(limited_abilities(90, 227 * kibibyte, "").architecture, 90);
}

TEST(cuda_abilities, dynamic_memory_is_what_static_memory_leaves) {
    EXPECT_EQ((abilities{75, 64 * kibibyte}.dynamic_shared(12 * kibibyte)), 52 * kibibyte);
    EXPECT_EQ((abilities{75, 64 * kibibyte}.dynamic_shared(65 * kibibyte)), 0u);
}

}  // namespace
}  // namespace quern::cuda::cuda_abilities_test
