// SPDX-License-Identifier: Apache-2.0
// One distance on the CPU, in plain loops that serve as its definition: its sum, and the sum's rank key.
// distance_kernels.cpp has the fast sums.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "ops/nearest/distance/components.hpp"
#include "ops/nearest/index/tile.hpp"

namespace quern::nearest_detail {

/// For sums as in distance.hpp: float, double, or exact in std::int64_t. x, y: sums of squares, for cosine only.
template <class Key, class Sum>
Key key_of_sum(vector_metric metric, Sum sum, double x, double y) {
    if constexpr (std::is_same_v<Sum, double>) {
        if (metric == vector_metric::cosine) {
            const cosine_sums sums = evened({sum, x, y});
            return key_of_distance(cosine_distance(sums.product, sums.x, sums.y, std::sqrt(sums.x * sums.y)));
        }
        return static_cast<Key>(metric == vector_metric::ip ? key_of_product(sum) : key_of_distance(sum));
    }
    if (metric == vector_metric::cosine)
        return key_of_distance(cosine_distance(static_cast<double>(sum), x, y, std::sqrt(x * y)));
    if constexpr (std::is_same_v<Sum, float>)
        return metric == vector_metric::ip ? key_of_product(sum) : key_of_distance(sum);
    else if constexpr (!std::is_same_v<Sum, double>)
        return metric == vector_metric::ip ? key_of_product<Key>(sum) : static_cast<Key>(sum);
}

template <part_kind Kind, class Sum>
Sum joined(Sum a, Sum b) {
    return Kind == part_kind::greatest ? std::max(a, b) : static_cast<Sum>(a + b);
}

/// The sixteen partial sums, then their tree. Floats in their own precision; integers in std::int64_t.
template <vector_type Type, part_kind Kind>
auto sum_of_row(const stored_t<Type>* a, const stored_t<Type>* b, std::uint32_t dimensions) {
    using sum = std::conditional_t<is_float(Type), component_t<Type>, std::int64_t>;
    std::array<sum, partial_sums> sums{};
    const auto add = [&](std::uint32_t j, std::uint32_t i) {
        if constexpr (Kind == part_kind::different_bits)
            sums[i] += std::popcount(static_cast<std::uint8_t>(a[j] ^ b[j]));
        else
            sums[i] = joined<Kind, sum>(sums[i], part<Kind>(value_of<Type>(a[j]), value_of<Type>(b[j])));
    };
    // For bits, one byte at a time.
    const auto size = static_cast<std::uint32_t>(bytes_of_row(Type, dimensions) / sizeof(stored_t<Type>));
    const std::uint32_t whole = size / partial_sums * partial_sums;
    for (std::uint32_t j = 0; j < whole; j += partial_sums)
        for (std::uint32_t i = 0; i < partial_sums; ++i) add(j + i, i);
    for (std::uint32_t j = whole; j < size; ++j) add(j, j - whole);
    for (std::size_t half = partial_sums / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) sums[i] = joined<Kind, sum>(sums[i], sums[i + half]);
    return sums[0];
}

/// The tile's row for requested row number i.
inline std::uint32_t requested_row(std::span<const std::uint32_t> rows, std::size_t i) {
    return rows.empty() ? static_cast<std::uint32_t>(i) : rows[i];
}
inline double square_of(const row_tile<cpu_place>& tile, std::uint32_t row) {
    return tile.squares.empty() ? 0 : tile.squares[row];
}

}  // namespace quern::nearest_detail
