// SPDX-License-Identifier: Apache-2.0
// Whether two runs differ by more than chance: paired tests over topics.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

enum class paired_test { none, t, randomization };
inline constexpr std::string_view paired_test_names[] = {"none", "t", "randomization"};

enum class p_correction { none, bonferroni, holm, bh };
inline constexpr std::string_view p_correction_names[] = {"none", "bonferroni", "holm", "bh"};

struct significance_options {
    paired_test test = paired_test::none;
    p_correction correction = p_correction::holm;
    double confidence = 0.95;             ///< of the interval, above 0 and below 1
    std::uint64_t permutations = 100000;  ///< randomization: draws, where not all are counted
};

/// The comparison of a run with the baseline by one measure.
struct paired_result {
    std::uint64_t topics = 0;
    double difference = 0;     ///< mean over the topics: run - baseline
    double low = 0, high = 0;  ///< Student's confidence interval of the mean difference
    double statistic = 0;      ///< t: Student's t; randomization: the mean difference
    double p = 1;              ///< two-sided
    double corrected = 1;      ///< by correct_p
    bool exact = false;        ///< randomization: all signs were counted
};

/// Pairs by topic: values[i] and baseline[i] belong together.
/// - t: Student's paired test (W. S. Gosset 1908), n - 1 degrees of freedom. p is 1 if no difference is left over, 0 if all
///   differences are the same number other than 0; nan below two topics, as the interval.
/// - randomization: the share of all 2^n choices of signs of the differences whose sum is as far from 0 as the sum found
///   (Fisher 1935; Smucker, Allan and Carterette 2007). Counted exactly for up to 40 differences other than 0; beyond, of
///   `permutations` seeded draws, (1 + those as far) / (1 + draws).
///
/// The same bits for any threads. Throws interrupted. Cost: O(n) for t; for randomization 2^(n/2) log 2^(n/2), or draws · n.
paired_result compare_paired(std::span<const double> values, std::span<const double> baseline,
                             const significance_options& options, const context& ctx);

/// Corrects the p values of one family of tests, in place of each: Bonferroni; Holm 1979; bh: Benjamini and Hochberg 1995
/// (the false discovery rate). At most 1; nan stays, and does not count.
std::vector<double> correct_p(std::span<const double> p, p_correction correction);

}  // namespace quern
