// SPDX-License-Identifier: Apache-2.0
// Powers with the same bits on every machine, from IEEE additions and multiplications (the mathematical library's
// differ between its versions): Taylor's series of e^r for |r| <= ln(2)/2, whose first omitted term is below 2^-60.
#pragma once

#include <cmath>

#include "base/canonical_math.hpp"

namespace quern::generator {

/// For |x| < 700.
inline double exponential(double x) {
    constexpr double ln2 = 0.6931471805599453;
    const double whole = std::floor(x / ln2 + 0.5), r = x - whole * ln2;
    double sum = 1;
    for (int term = 16; term > 0; --term) sum = 1 + sum * r / term;
    return std::ldexp(sum, static_cast<int>(whole));
}

/// x > 0.
inline double power(double x, double exponent) {
    return exponential(exponent * canonical_log(x));
}

}  // namespace quern::generator
