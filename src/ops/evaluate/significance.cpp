// SPDX-License-Identifier: Apache-2.0
// Functions of Student's distribution are computed in long double, and rounded once: the last digit does not depend on the
// C library. Sums of differences are whole multiples of 2^-45, so that their order cannot decide a tie.
#include "quern/ops/significance.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "quern/base/error.hpp"

namespace quern {
namespace {

using real = long double;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// The continued fraction of the incomplete beta function, by Lentz's method (Numerical recipes, 6.4).
real beta_fraction(real a, real b, real x) {
    constexpr real tiny = 1e-4000L, enough = 1e-19L;
    const auto nonzero = [](real value) { return std::fabs(value) < tiny ? tiny : value; };
    real c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), result = d;
    for (int m = 1; m < 100000; ++m) {
        const real even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / nonzero(1 + even * d);
        c = nonzero(1 + even / c);
        result *= d * c;
        const real odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / nonzero(1 + odd * d);
        c = nonzero(1 + odd / c);
        result *= d * c;
        if (std::fabs(d * c - 1) < enough) break;
    }
    return result;
}

/// I(x; a, b), regularized; `rest` is 1 - x, given apart for its digits.
real incomplete_beta(real a, real b, real x, real rest) {
    if (x <= 0) return 0;
    if (rest <= 0) return 1;
    const real front =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, rest) / b;
}

/// P(|T| >= t) of Student's distribution.
real two_sided_tail(real t, real degrees) {
    const real sum = degrees + t * t;
    return incomplete_beta(degrees / 2, 0.5L, degrees / sum, t * t / sum);
}

/// t with two_sided_tail(t) = tail, by bisection: the tail falls.
real two_sided_quantile(real tail, real degrees) {
    real low = 0, high = 1;
    while (two_sided_tail(high, degrees) > tail && high < 1e18L) high *= 2;
    for (int i = 0; i < 120; ++i) {
        const real middle = (low + high) / 2;
        (two_sided_tail(middle, degrees) > tail ? low : high) = middle;
    }
    return (low + high) / 2;
}

struct summary {
    real mean = 0, error = 0;  // of the mean; 0 if all differences are equal
};

summary summary_of(std::span<const double> differences) {
    const auto n = static_cast<real>(differences.size());
    summary result;
    for (const double d : differences) result.mean += d;
    result.mean /= n;
    real squares = 0;
    for (const double d : differences) squares += (d - result.mean) * (d - result.mean);
    const bool equal = std::ranges::all_of(differences, [&](double d) { return d == differences[0]; });
    result.error = equal || n < 2 ? 0 : std::sqrt(squares / (n - 1) / n);
    return result;
}

void test_student(paired_result& made, const summary& of) {
    if (made.topics < 2) {
        made.statistic = made.p = unknown;
    } else if (of.error == 0) {
        made.statistic = of.mean == 0 ? 0 : std::copysign(HUGE_VAL, made.difference);
        made.p = of.mean == 0 ? 1 : 0;
    } else {
        const real t = of.mean / of.error;
        made.statistic = static_cast<double>(t);
        made.p = static_cast<double>(two_sided_tail(std::fabs(t), static_cast<real>(made.topics - 1)));
    }
}

using wide = __int128;
constexpr std::size_t counted_differences = 40;

/// The sums of all choices of signs.
std::vector<wide> signed_sums(std::span<const wide> of, const context& ctx) {
    std::vector<wide> sums{0};
    sums.reserve(std::size_t{1} << of.size());
    for (const wide value : of) {
        ctx.check_stop();
        const std::size_t before = sums.size();
        for (std::size_t i = 0; i < before; ++i) sums.push_back(sums[i] + value);
        for (std::size_t i = 0; i < before; ++i) sums[i] -= value;
    }
    std::sort(sums.begin(), sums.end());
    return sums;
}

/// How many choices of signs have a sum of at least `bound`, by sums of two halves.
std::uint64_t choices_from(std::span<const wide> of, wide bound, const context& ctx) {
    const std::size_t half = of.size() / 2;
    const auto left = signed_sums(of.first(half), ctx), right = signed_sums(of.subspan(half), ctx);
    std::uint64_t count = 0;
    std::size_t above = right.size();  // those of right from here on reach the bound
    for (const wide value : left) {
        while (above > 0 && value + right[above - 1] >= bound) --above;
        count += right.size() - above;
    }
    return count;
}

/// splitmix64 (Steele, Lea and Flood 2014).
std::uint64_t next_random(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void test_randomization(paired_result& made, std::span<const double> differences,
                        const significance_options& options, const context& ctx) {
    made.statistic = made.difference;
    std::vector<wide> values;
    wide sum = 0;
    for (const double d : differences) {
        const auto value = static_cast<wide>(std::nearbyint(d * 0x1p45));
        if (value != 0) values.push_back(value);
        sum += value;
    }
    // Values such as 1/3 are rounded: sums that would be equal differ by a unit for each.
    const wide bound = std::max<wide>(0, (sum < 0 ? -sum : sum) - static_cast<wide>(values.size()));
    made.exact = values.size() <= counted_differences;
    if (bound == 0) {
        made.p = 1;
    } else if (made.exact) {
        const std::uint64_t count = choices_from(values, bound, ctx);
        made.p = std::ldexp(static_cast<double>(count), 1 - static_cast<int>(values.size()));
    } else {
        std::uint64_t state = ctx.seed, as_far = 0;
        for (std::uint64_t draw = 0; draw < options.permutations; ++draw) {
            if (draw % 4096 == 0) ctx.check_stop();
            wide drawn = 0;
            std::uint64_t signs = 0;
            for (std::size_t i = 0; i < values.size(); ++i, signs >>= 1) {
                if (i % 64 == 0) signs = next_random(state);
                drawn += (signs & 1) != 0 ? values[i] : -values[i];
            }
            as_far += (drawn < 0 ? -drawn : drawn) >= bound ? 1 : 0;
        }
        made.p = static_cast<double>(as_far + 1) / static_cast<double>(options.permutations + 1);
    }
}

}  // namespace

paired_result compare_paired(std::span<const double> values, std::span<const double> baseline,
                             const significance_options& options, const context& ctx) {
    if (values.size() != baseline.size())
        throw usage_error("paired values must be as many as the baseline's");
    paired_result result;
    result.topics = values.size();
    if (values.empty()) {
        result.difference = result.low = result.high = result.statistic = result.p = result.corrected =
            unknown;
        return result;
    }
    std::vector<double> differences(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) differences[i] = values[i] - baseline[i];
    const summary of = summary_of(differences);
    result.difference = static_cast<double>(of.mean);
    if (result.topics < 2) {
        result.low = result.high = unknown;
    } else {
        const real reach = of.error == 0
                               ? 0
                               : of.error * two_sided_quantile(1 - static_cast<real>(options.confidence),
                                                               static_cast<real>(result.topics - 1));
        result.low = static_cast<double>(of.mean - reach);
        result.high = static_cast<double>(of.mean + reach);
    }
    if (options.test == paired_test::t) test_student(result, of);
    if (options.test == paired_test::randomization) test_randomization(result, differences, options, ctx);
    result.corrected = result.p;
    return result;
}

std::vector<double> correct_p(std::span<const double> p, p_correction correction) {
    std::vector<double> result(p.begin(), p.end());
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < p.size(); ++i)
        if (!std::isnan(p[i])) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
    const auto n = static_cast<double>(order.size());
    double bound = correction == p_correction::bh ? 1 : 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const bool falls = correction == p_correction::bh;
        const std::size_t rank = falls ? order.size() - k : k + 1, i = order[rank - 1];
        switch (correction) {
            case p_correction::none:
                break;
            case p_correction::bonferroni:
                result[i] = std::min(1.0, n * p[i]);
                break;
            case p_correction::holm:
                result[i] = bound = std::max(bound, std::min(1.0, (n - static_cast<double>(k)) * p[i]));
                break;
            case p_correction::bh:
                result[i] = bound = std::min(bound, n / static_cast<double>(rank) * p[i]);
                break;
        }
    }
    return result;
}

}  // namespace quern
