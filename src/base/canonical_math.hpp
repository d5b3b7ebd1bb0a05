// SPDX-License-Identifier: Apache-2.0
// The natural logarithm and powers of ten with the same bits on every compiler, processor and device. The mathematical library's
// logarithm differs between libm versions and CUDA. This one uses only IEEE 754 additions, subtractions,
// multiplications and divisions in a fixed order, each rounded once (compile without contraction), and integer
// operations on the bits. Error below 0.6 units in the last place (tests/base/canonical_math_test.cpp).
//
// Method: x = 2^k m with sqrt(1/2) <= m < sqrt(2), f = m - 1, s = f / (2 + f). Then
//   log m = 2 atanh(s) = 2 s + s R,  R = s² P(s²),  P(z) = 2/3 + 2/5 z + 2/7 z² + …
// Since 2 s = f - s f and s f = h - s h with h = f²/2, also log m = f - (h - s (h + R)). The large part, f, is exact
// here, so that only small parts carry rounding errors. ln 2 is split in two so that k times its upper part is exact. P
// is a degree-6 Chebyshev interpolation over z in [0, (3 - 2 sqrt 2)²], error 2^-56.5 z^-1.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace quern {

/// The logarithm of a normal positive finite x; for other arguments the result is meaningless. Branch-free, so that
/// compilers vectorise loops over it.
constexpr double canonical_log_normal(double x) noexcept {
    constexpr double p0 = 0x1.5555555555558p-1, p1 = 0x1.99999999952e2p-2, p2 = 0x1.2492492df148dp-2,
                     p3 = 0x1.c71c62e5800a1p-3, p4 = 0x1.7462b4ab2ef6cp-3, p5 = 0x1.39fe606542dbap-3,
                     p6 = 0x1.2b584aae78c14p-3;
    constexpr double ln2_upper = 0x1.62e42fefa3000p-1, ln2_lower = 0x1.3de6af278ece6p-42;
    constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcdu;  // the bits of sqrt(1/2)
    constexpr std::uint64_t bias = 1024;                      // keeps the exponent positive during the shift
    constexpr double integer_shift = 0x1.8p52;  // adding it puts an integer into the lowest bits

    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t exponent = ((bits - sqrt_half) + (bias << 52)) >> 52;  // k + 1024
    const double m = std::bit_cast<double>(bits - ((exponent - bias) << 52));
    const double k = std::bit_cast<double>(std::bit_cast<std::uint64_t>(integer_shift) + (exponent - bias)) -
                     integer_shift;

    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double r = z * (p0 + z * (p1 + z * (p2 + z * (p3 + z * (p4 + z * (p5 + z * p6))))));
    const double h = 0.5 * f * f;
    return k * ln2_upper - ((h - (s * (h + r) + k * ln2_lower)) - f);
}

/// The logarithm of any x: -inf at ±0, NaN below zero and for NaN, +inf at +inf.
constexpr double canonical_log(double x) noexcept {
    if (x >= std::numeric_limits<double>::min() && x <= std::numeric_limits<double>::max())
        return canonical_log_normal(x);
    if (x == 0) return -std::numeric_limits<double>::infinity();
    if (x > 0 && x < 1) {  // subnormal: scaled exactly by 2^54 into the normal range
        constexpr double ln2_upper = 0x1.62e42fefa3000p-1, ln2_lower = 0x1.3de6af278ece6p-42;
        // log(x 2^54) <= -670 is far from zero, so that subtracting 54 ln 2 costs at most one rounding.
        return canonical_log_normal(x * 0x1p54) - (54 * ln2_upper + 54 * ln2_lower);
    }
    if (x > 0) return x;  // +inf
    return std::numeric_limits<double>::quiet_NaN();
}

/// 10^x for any x; the error is below two units in the last place for results in the normal range, and results below it
/// are 0. 10^x = 2^k e^r with |r| <= ln 2 / 2, and e^r is its Taylor polynomial of degree 13 (error 2^-57).
constexpr double canonical_power_of_ten(double x) noexcept {
    constexpr double log2_of_10 = 0x1.a934f0979a371p+1;
    // log10(2) in two parts, of which k times the upper one is exact; ln 10 in two.
    constexpr double log10_of_2_upper = 0x1.3441350800000p-2, log10_of_2_lower = 0x1.f79fef311f12bp-34;
    constexpr double ln10 = 0x1.26bb1bbb55516p+1, ln10_lower = -0x1.f48ad494ea3e9p-53;
    if (x != x) return x;
    if (x > 308.25471555991674) return std::numeric_limits<double>::infinity();
    if (x < -307.65265556858876) return 0;
    const double halves = x * log2_of_10 + (x < 0 ? -0.5 : 0.5);
    const auto k = static_cast<std::int64_t>(halves);
    const double whole = static_cast<double>(k);
    const double rest = (x - whole * log10_of_2_upper) - whole * log10_of_2_lower;
    const double r = rest * ln10 + rest * ln10_lower;
    double sum = 1;
    for (int i = 13; i > 0; --i) sum = 1 + r / i * sum;
    // In two steps: 2^k may be beyond the range when the product is not.
    const std::int64_t half = k / 2;
    const auto power = [](std::int64_t e) {
        return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
    };
    return sum * power(half) * power(k - half);
}

}  // namespace quern
