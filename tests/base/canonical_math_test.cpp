// SPDX-License-Identifier: Apache-2.0
// The canonical logarithm against the 64-bit mantissa of long double, and against bits that must never change.
#include "base/canonical_math.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace quern::canonical_math_test {
namespace {

using quern::canonical_log;
using quern::canonical_power_of_ten;

// |computed - true| in units of the last place of the true value, rounded to double.
double error_in_ulps(double x) {
    const long double truth = std::log(static_cast<long double>(x));
    const double rounded = static_cast<double>(truth);
    if (rounded == 0) return canonical_log(x) == 0 ? 0 : 1e9;
    const int exponent = std::ilogb(rounded);
    const long double ulp = std::ldexp(1.0L, exponent - 52);
    return static_cast<double>(std::abs(static_cast<long double>(canonical_log(x)) - truth) / ulp);
}

static_assert(canonical_log(1.0) == 0.0);
static_assert(canonical_log(0.0) == -std::numeric_limits<double>::infinity());

TEST(canonical_log, error_stays_below_0_9_ulp_over_all_exponents) {
    static_assert(std::numeric_limits<long double>::digits >= 64);
    std::mt19937_64 random(20);
    double worst = 0, worst_x = 1;
    for (int i = 0; i < 2'000'000; ++i) {
        // positive normal numbers, uniform in their bits
        const std::uint64_t bits =
            0x0010000000000000u + random() % (0x7ff0000000000000u - 0x0010000000000000u);
        const double x = std::bit_cast<double>(bits);
        if (const double e = error_in_ulps(x); e > worst) worst = e, worst_x = x;
    }
    RecordProperty("worst_ulp", std::to_string(worst));
    EXPECT_LT(worst, 0.9) << std::hexfloat << worst_x;
}

TEST(canonical_log, error_stays_below_0_9_ulp_around_one) {
    std::mt19937_64 random(21);
    double worst = 0, worst_x = 1;
    for (int i = 0; i < 2'000'000; ++i) {
        const double spread = std::ldexp(1.0, -static_cast<int>(random() % 50));
        const double x = 1.0 + spread * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
        if (const double e = error_in_ulps(x); e > worst) worst = e, worst_x = x;
    }
    RecordProperty("worst_ulp", std::to_string(worst));
    EXPECT_LT(worst, 0.9) << std::hexfloat << worst_x;
}

TEST(canonical_log, subnormals_are_as_exact) {
    std::mt19937_64 random(22);
    double worst = 0;
    for (int i = 0; i < 100'000; ++i)
        worst = std::max(worst, error_in_ulps(std::bit_cast<double>(1 + random() % 0x000fffffffffffffu)));
    worst = std::max(worst, error_in_ulps(std::numeric_limits<double>::denorm_min()));
    EXPECT_LT(worst, 1.0);
}

TEST(canonical_log, special_values) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(canonical_log(0.0), -infinity);
    EXPECT_EQ(canonical_log(-0.0), -infinity);
    EXPECT_EQ(canonical_log(infinity), infinity);
    EXPECT_TRUE(std::isnan(canonical_log(-1.0)));
    EXPECT_TRUE(std::isnan(canonical_log(-infinity)));
    EXPECT_TRUE(std::isnan(canonical_log(-std::numeric_limits<double>::denorm_min())));
    EXPECT_TRUE(std::isnan(canonical_log(std::numeric_limits<double>::quiet_NaN())));
    EXPECT_EQ(canonical_log(1.0), 0.0);
}

TEST(canonical_log, rises_across_the_seam_of_the_reduction) {
    // The seam: mantissas just below and above sqrt(1/2) and sqrt(2) use different exponents.
    for (const double seam : {std::sqrt(0.5), std::sqrt(2.0), 2.0, 0.5}) {
        double x = seam;
        for (int i = 0; i < 50; ++i) x = std::nextafter(x, 0.0);
        for (int i = 0; i < 100; ++i) {
            const double next = std::nextafter(x, 4.0);
            EXPECT_LE(canonical_log(x), canonical_log(next) + 0x1p-53);
            x = next;
        }
    }
}

// Stored scores and all devices depend on these bits: changing them changes the contract.
TEST(canonical_log, bits_are_frozen) {
    std::uint64_t digest = 0xcbf29ce484222325u;
    std::mt19937_64 random(23);
    for (int i = 0; i < 1'000'000; ++i) {
        const double x = std::bit_cast<double>(random() & 0x7fffffffffffffffu);
        if (std::isnan(x)) continue;
        digest = (digest ^ std::bit_cast<std::uint64_t>(canonical_log(x))) * 0x100000001b3u;
    }
    EXPECT_EQ(digest, 0xb4086e0077ed7924u) << std::hex << digest;
}

TEST(canonical_power_of_ten, nearly_the_nearest_number) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> any(-307, 308);
    for (int i = 0; i < 200'000; ++i) {
        const double x = i % 2 == 0 ? any(random) : any(random) / 100;
        const long double exact = powl(10.0L, x);
        EXPECT_NEAR(static_cast<double>(canonical_power_of_ten(x) / exact), 1, 0x1p-52) << x;
    }
}

TEST(canonical_power_of_ten, special_values) {
    EXPECT_EQ(canonical_power_of_ten(0), 1);
    EXPECT_EQ(canonical_power_of_ten(1), 10);
    EXPECT_EQ(canonical_power_of_ten(2), 100);
    EXPECT_EQ(canonical_power_of_ten(400), std::numeric_limits<double>::infinity());
    EXPECT_EQ(canonical_power_of_ten(-400), 0);
    EXPECT_TRUE(std::isfinite(canonical_power_of_ten(308.2547155599167)));
    EXPECT_TRUE(std::isnan(canonical_power_of_ten(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace quern::canonical_math_test
