// SPDX-License-Identifier: Apache-2.0
// A row whose sum an error bound leaves open, summed without error: first as the sum of two doubles, which can hold
// integers, multiples of one power of two, and zeros; if digits would be lost, in a long accumulator.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "primitives/sparse/exact_sum.hpp"
#include "primitives/sparse/sum_kernels.hpp"

namespace quern::primitives::sparse_detail {

/// high += amount, with the rest in low; false if the rest does not fit either.
inline bool add_to_pair(double amount, double& high, double& low) {
    const double sum = high + amount, part = sum - high;
    const double rest = (high - (sum - part)) + (amount - part);
    high = sum;
    const double low_sum = low + rest, low_part = low_sum - low;
    const bool exact = (low - (low_sum - low_part)) + (rest - low_part) == 0;
    low = low_sum;
    return exact;
}

/// high + low, rounded once.
inline double rounded_pair(double high, double low, double /*type*/) {
    return high + low;
}
inline float rounded_pair(double high, double low, float /*type*/) {
    // First rounded to odd, so that rounding twice equals rounding once (Boldo and Melquiond 2008).
    const double sum = high + low, part = sum - high;
    const double rest = (high - (sum - part)) + (low - part);
    auto bits = std::bit_cast<std::uint64_t>(sum);
    if (rest != 0 && (bits & 1) == 0) bits += (rest > 0) == (sum > 0) ? std::uint64_t{1} : ~std::uint64_t{0};
    return static_cast<float>(std::bit_cast<double>(bits));
}

/// The sum, if a pair can hold it.
template <floating_value Value>
std::optional<Value> rounded_sum(const pair_sums& sums) {
    double high = 0, low = 0;
    bool exact = sums.exact;
    for (const double part : sums.high) exact = add_to_pair(part, high, low) && exact;
    for (const double part : sums.low) exact = add_to_pair(part, high, low) && exact;
    if (!exact || !std::isfinite(high) || !std::isfinite(low)) return {};
    return rounded_pair(high, low, Value());
}

/// Whether all products have a zero factor: for rows of doubles, where products that are too small look the same.
template <floating_value Value, class Visit>
bool adds_nothing(const Visit& visit) {
    bool nothing = true;
    visit([&](Value a, Value x) { nothing = nothing & (a * x == 0) & ((a == 0) | (x == 0)); });
    return nothing;
}

/// The sum of a row of floats, if no addition in double rounds: their products are exact. Most open rows are short, and are
/// open since their sum is halfway between two floats.
template <class Visit>
std::optional<float> sum_in_double(const Visit& visit) {
    double sum = 0;
    bool exact = true;
    visit([&](float a, float x) {
        const double product = static_cast<double>(a) * static_cast<double>(x);
        const double next = sum + product, part = next - sum;
        exact = exact & ((sum - (next - part)) + (product - part) == 0);
        sum = next;
    });
    if (!exact || !std::isfinite(sum)) return {};
    return static_cast<float>(sum);
}

/// visit(use) calls use(a, x) for every entry of the row; up to three times.
template <floating_value Value, class Visit>
Value sum_open_row(const Visit& visit) {
    if constexpr (std::is_same_v<Value, float>) {
        if (const std::optional<float> found = sum_in_double(visit)) return *found;
    } else if (adds_nothing<Value>(visit)) {
        return 0;
    }
    constexpr std::size_t capacity = 256;
    Value a[capacity], x[capacity];
    std::size_t count = 0;
    pair_sums sums;
    visit([&](Value a_entry, Value x_entry) {
        if (count == capacity) {
            if (sums.exact) add_to_pairs(a, x, count, sums);
            count = 0;
        }
        a[count] = a_entry;
        x[count++] = x_entry;
    });
    if (sums.exact) add_to_pairs(a, x, count, sums);
    if (const std::optional<Value> found = rounded_sum<Value>(sums)) return *found;
    exact_sum<Value> sum;
    visit([&](Value a_entry, Value x_entry) { sum.add_product(a_entry, x_entry); });
    return sum.rounded();
}

}  // namespace quern::primitives::sparse_detail
