// SPDX-License-Identifier: Apache-2.0
// Sparse products the slow, obvious way: every product is multiplied out by hand in binary, digit by digit, all are
// added up in one long row of digits, and that is rounded as IEEE 754 says.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "primitives/sparse/formats.hpp"

namespace quern::reference {

/// The positions of the 1 digits of a finite number: i for 2^(i − 1074).
inline std::vector<std::size_t> binary_ones(double number) {
    std::vector<std::size_t> ones;
    for (double rest = std::fabs(number); rest != 0;) {
        int exponent = 0;
        std::frexp(rest, &exponent);  // rest is within [2^(exponent − 1), 2^exponent)
        ones.push_back(static_cast<std::size_t>(exponent - 1 + 1074));
        rest -= std::ldexp(1.0, exponent - 1);
    }
    return ones;
}

/// digits[i] · 2^(i − 2148), any integers, as the nearest Value, ties to even; +0 for zero.
template <class Value>
Value rounded(std::vector<std::int64_t> digits) {
    using limits = std::numeric_limits<Value>;
    const auto carry = [&digits] {
        for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
            const std::int64_t digit = digits[i] & 1;
            digits[i + 1] += (digits[i] - digit) / 2;
            digits[i] = digit;
        }
    };
    carry();
    const bool negative = digits.back() < 0;
    if (negative) {
        for (std::int64_t& digit : digits) digit = -digit;
        carry();
    }
    int highest = static_cast<int>(digits.size()) - 1;
    while (highest >= 0 && digits[static_cast<std::size_t>(highest)] == 0) --highest;
    if (highest < 0) return 0;
    // The last digit that the result keeps: `digits` binary digits in total, but none below the smallest subnormal.
    const int least = limits::min_exponent - limits::digits + 2148;
    const int last = std::max(highest - (limits::digits - 1), least);
    std::uint64_t kept = 0;
    for (int i = highest; i >= last; --i)
        kept = 2 * kept + static_cast<std::uint64_t>(digits[static_cast<std::size_t>(i)]);
    const bool half = digits[static_cast<std::size_t>(last - 1)] != 0;
    bool more = false;
    for (int i = 0; i < last - 1; ++i) more = more || digits[static_cast<std::size_t>(i)] != 0;
    if (half && (more || kept % 2 == 1)) ++kept;
    const auto magnitude = static_cast<Value>(std::ldexp(static_cast<Value>(kept), last - 2148));
    return negative ? -magnitude : magnitude;
}

/// Σ a[i] · x[i], by the contract of primitives/sparse/formats.hpp.
template <class Value>
Value exact_dot(const std::vector<Value>& a, const std::vector<Value>& x) {
    bool not_a_number = false, plus = false, minus = false;
    std::vector<std::int64_t> sum(4300);
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!std::isfinite(a[i]) || !std::isfinite(x[i])) {
            const Value product = a[i] * x[i];
            not_a_number = not_a_number || std::isnan(product);
            plus = plus || product > 0;
            minus = minus || product < 0;
            continue;
        }
        const int sign = std::signbit(a[i]) == std::signbit(x[i]) ? 1 : -1;
        for (const std::size_t j : binary_ones(a[i]))
            for (const std::size_t k : binary_ones(x[i])) sum[j + k] += sign;
    }
    if (not_a_number || (plus && minus)) return std::numeric_limits<Value>::quiet_NaN();
    if (plus || minus)
        return plus ? std::numeric_limits<Value>::infinity() : -std::numeric_limits<Value>::infinity();
    return rounded<Value>(sum);
}

template <class Value>
std::vector<Value> sparse_product(const primitives::csr_view<Value>& matrix, const std::vector<Value>& x) {
    std::vector<Value> y(matrix.rows);
    for (std::uint32_t i = 0; i < matrix.rows; ++i) {
        std::vector<Value> a_row, x_row;
        for (std::uint64_t e = matrix.offsets[i]; e < matrix.offsets[i + 1]; ++e) {
            a_row.push_back(matrix.value[e]);
            x_row.push_back(x[matrix.column[e]]);
        }
        y[i] = exact_dot(a_row, x_row);
    }
    return y;
}

}  // namespace quern::reference
