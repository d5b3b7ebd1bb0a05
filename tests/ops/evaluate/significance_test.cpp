// SPDX-License-Identifier: Apache-2.0
// Values of scipy 1.17.1: ttest_rel, permutation_test (samples), false_discovery_control.
#include "quern/ops/significance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace quern::significance_test {
namespace {

const std::vector<double> baseline{.1, .5, .3, .9, .25, .7, 0, 1}, run{.2, .4, .6, 1, .5, .7, .25, 1};

TEST(significance, t_is_that_of_scipy) {
    const auto found = compare_paired(run, baseline, {.test = paired_test::t}, {});
    EXPECT_EQ(found.topics, 8u);
    EXPECT_DOUBLE_EQ(found.difference, .1125);
    EXPECT_DOUBLE_EQ(found.statistic, 2.220458237078261);
    EXPECT_DOUBLE_EQ(found.p, 0.06183542674303106);
    EXPECT_NEAR(found.low, -0.007304202511921529, 1e-16);
    EXPECT_DOUBLE_EQ(found.high, 0.23230420251192152);
}

TEST(significance, randomization_is_that_of_scipy) {
    const auto found = compare_paired(run, baseline, {.test = paired_test::randomization}, {});
    EXPECT_EQ(found.p, 0.125);
    EXPECT_TRUE(found.exact);
}

/// All choices of signs, one by one.
double slow_p(const std::vector<double>& differences) {
    double sum = 0;
    for (const double d : differences) sum += d;
    std::uint64_t as_far = 0;
    const std::uint64_t all = std::uint64_t{1} << differences.size();
    for (std::uint64_t signs = 0; signs < all; ++signs) {
        double drawn = 0;
        for (std::size_t i = 0; i < differences.size(); ++i)
            drawn += (signs >> i & 1) != 0 ? differences[i] : -differences[i];
        as_far += std::fabs(drawn) >= std::fabs(sum) - 1e-12 ? 1 : 0;
    }
    return static_cast<double>(as_far) / static_cast<double>(all);
}

TEST(significance, randomization_counts_all_signs) {
    std::mt19937_64 random(7);
    for (std::size_t n = 1; n <= 14; ++n)
        for (int trial = 0; trial < 8; ++trial) {
            std::vector<double> values, zeros(n);
            for (std::size_t i = 0; i < n; ++i)
                values.push_back((static_cast<double>(random() % 13) - 5) / (trial % 2 == 0 ? 3 : 8));
            const auto found = compare_paired(values, zeros, {.test = paired_test::randomization}, {});
            EXPECT_DOUBLE_EQ(found.p, slow_p(values)) << n;
        }
}

TEST(significance, draws_are_near_the_exact_share_and_seeded) {
    std::vector<double> values, zeros(60);
    for (int i = 0; i < 60; ++i) values.push_back(i % 3 == 0 ? -0.1 - i * 1e-3 : 0.08 + i * 1e-3);
    const significance_options options{.test = paired_test::randomization};
    context other;
    other.seed = 5;
    const auto found = compare_paired(values, zeros, options, {}),
               again = compare_paired(values, zeros, options, {}),
               seeded = compare_paired(values, zeros, options, other);
    EXPECT_FALSE(found.exact);
    EXPECT_EQ(found.p, again.p);
    EXPECT_NE(found.p, seeded.p);
    EXPECT_NEAR(found.p, seeded.p, 0.01);
    EXPECT_NEAR(found.p, compare_paired(values, zeros, {.test = paired_test::t}, {}).p, 0.02);
}

TEST(significance, equal_runs_do_not_differ) {
    for (const auto test : {paired_test::t, paired_test::randomization}) {
        const auto found = compare_paired(run, run, {.test = test}, {});
        EXPECT_EQ(found.p, 1);
        EXPECT_EQ(found.difference, 0);
        EXPECT_EQ(found.low, 0);
        const auto shifted =
            compare_paired(std::vector<double>{2, 3, 4}, std::vector<double>{1, 2, 3}, {.test = test}, {});
        EXPECT_EQ(shifted.p, test == paired_test::t ? 0 : 0.25);
    }
    EXPECT_TRUE(std::isnan(
        compare_paired(std::vector<double>{1}, std::vector<double>{0}, {.test = paired_test::t}, {}).p));
    EXPECT_TRUE(std::isnan(compare_paired({}, {}, {.test = paired_test::t}, {}).difference));
}

TEST(significance, corrections) {
    const std::vector<double> p{.01, .04, .03, .2};
    using ::testing::DoubleEq;
    using ::testing::ElementsAre;
    EXPECT_EQ(correct_p(p, p_correction::none), p);
    EXPECT_THAT(correct_p(p, p_correction::bonferroni),
                ElementsAre(DoubleEq(.04), DoubleEq(.16), DoubleEq(.12), DoubleEq(.8)));
    EXPECT_THAT(correct_p(p, p_correction::holm),
                ElementsAre(DoubleEq(.04), DoubleEq(.09), DoubleEq(.09), DoubleEq(.2)));
    EXPECT_THAT(correct_p(p, p_correction::bh),
                ElementsAre(DoubleEq(.04), DoubleEq(.16 / 3), DoubleEq(.16 / 3), DoubleEq(.2)));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto some = correct_p(std::vector<double>{.3, nan, .9}, p_correction::bonferroni);
    EXPECT_DOUBLE_EQ(some[0], .6);
    EXPECT_TRUE(std::isnan(some[1]));
    EXPECT_EQ(some[2], 1);
}

}  // namespace
}  // namespace quern::significance_test
