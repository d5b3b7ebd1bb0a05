// SPDX-License-Identifier: Apache-2.0
#include "base/shortest_float.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace quern {
namespace {

std::string ours(float value) {
    char letters[shortest_float_letters];
    return {letters, put_shortest(letters, value)};
}
std::string expected(float value) {
    char letters[64];
    return {letters, std::to_chars(letters, letters + sizeof letters, value).ptr};
}

TEST(shortest_float, is_that_of_the_standard_library) {
    // Every 97th float of the quick way, and what is around it.
    const auto first = std::bit_cast<std::uint32_t>(0x1p-5F), last = std::bit_cast<std::uint32_t>(0x1p8F);
    for (std::uint32_t bits = first; bits < last; bits += 97) {
        const float value = std::bit_cast<float>(bits);
        ASSERT_EQ(ours(value), expected(value));
        ASSERT_EQ(ours(-value), expected(-value));
    }
    // Around powers of two, and decimals of few digits with their neighbours.
    for (int exponent = -149; exponent < 128; ++exponent) {
        float value = std::nextafterf(std::ldexp(1.0F, exponent), 0);
        for (int i = 0; i < 3; ++i, value = std::nextafterf(value, 1e38F))
            ASSERT_EQ(ours(-value), expected(-value));
    }
    for (int decimal = 0; decimal < 200'000; ++decimal) {
        for (const float scale : {1e3F, 1e4F, 1e5F, 1e6F, 1e7F}) {
            const float value = static_cast<float>(decimal) / scale;
            for (const float near : {value, std::nextafterf(value, 0), std::nextafterf(value, 1e9F)})
                ASSERT_EQ(ours(near), expected(near));
        }
    }
    std::mt19937 random(14);
    for (int i = 0; i < 200'000; ++i) {
        const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        ASSERT_EQ(ours(value), expected(value));
    }
    ASSERT_EQ(ours(-0.0F), "-0");
    ASSERT_EQ(ours(-std::numeric_limits<float>::min()), "-1.1754944e-38");
}

}  // namespace
}  // namespace quern
