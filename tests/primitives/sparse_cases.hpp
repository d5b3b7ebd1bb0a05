// SPDX-License-Identifier: Apache-2.0
// Matrices for tests of sparse products: difficult shapes for formats, difficult values for sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "primitives/sparse/formats.hpp"

namespace quern {

template <class Value>
struct sparse_case {
    std::string name;
    std::uint32_t columns = 0;
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> column;
    std::vector<Value> value, x;

    std::uint32_t rows() const { return static_cast<std::uint32_t>(offsets.size() - 1); }
    primitives::csr_view<Value> view() const { return {rows(), columns, offsets, column, value}; }
};

/// The kinds of a product's factors.
enum class sparse_values { ordinary, wide, cancelling, integers, tiny, huge, not_finite, zeros };
inline constexpr sparse_values all_sparse_values[] = {
    sparse_values::ordinary, sparse_values::wide, sparse_values::cancelling, sparse_values::integers,
    sparse_values::tiny,     sparse_values::huge, sparse_values::not_finite, sparse_values::zeros};

template <class Value>
Value sparse_value(sparse_values kind, std::mt19937_64& random) {
    using limits = std::numeric_limits<Value>;
    const auto draw = [&random](int from, int to) {
        return from + static_cast<int>(random() % static_cast<std::uint64_t>(to - from + 1));
    };
    const auto digits = static_cast<Value>(static_cast<double>(random() >> 11) * 0x1p-53 * 2 - 1);
    const auto scaled = [&](int exponent) { return static_cast<Value>(std::ldexp(digits, exponent)); };
    switch (kind) {
        case sparse_values::ordinary:
            return digits;
        case sparse_values::wide:
            return scaled(draw(limits::min_exponent / 3, limits::max_exponent / 3));
        case sparse_values::cancelling: {  // few powers of two far apart, of both signs: most of it cancels
            const int exponent = draw(-1, 1) * (limits::digits + 10);
            return static_cast<Value>(std::ldexp(random() % 2 == 0 ? 1 : -1, exponent));
        }
        case sparse_values::integers:
            return static_cast<Value>(draw(-9000, 9000));  // many sums are midpoints
        case sparse_values::tiny:
            return scaled(draw(limits::min_exponent - limits::digits, limits::min_exponent + 4) / 2);
        case sparse_values::huge:
            return scaled(draw(limits::max_exponent / 2 - 3, limits::max_exponent / 2 + 3));
        case sparse_values::not_finite: {
            const Value some[] = {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), 0, 1,
                                  limits::max()};
            return draw(0, 99) == 0 ? some[random() % 6] : digits;
        }
        case sparse_values::zeros:
            return random() % 4 == 0 ? digits : std::copysign(Value(0), digits);
    }
    return 0;
}

template <class Value>
void add_row(sparse_case<Value>& made, std::uint64_t length, sparse_values kind, std::mt19937_64& random) {
    for (std::uint64_t k = 0; k < length; ++k) {
        made.column.push_back(static_cast<std::uint32_t>(random() % made.columns));
        made.value.push_back(sparse_value<Value>(kind, random));
    }
    made.offsets.push_back(made.column.size());
}

template <class Value>
sparse_case<Value> sparse_case_of(std::string name, std::uint32_t columns,
                                  const std::vector<std::uint64_t>& lengths, sparse_values kind,
                                  std::uint64_t seed) {
    std::mt19937_64 random(seed);
    sparse_case<Value> made;
    made.name = std::move(name);
    made.columns = columns;
    for (const std::uint64_t length : lengths) add_row(made, length, kind, random);
    for (std::uint32_t j = 0; j < columns; ++j) made.x.push_back(sparse_value<Value>(kind, random));
    return made;
}

/// Difficult lengths of rows for formats and kernels.
struct row_shape {
    std::string name;
    std::vector<std::uint64_t> lengths;
};
inline std::vector<row_shape> row_shapes() {
    std::mt19937_64 random(6);
    std::vector<row_shape> shapes;
    shapes.push_back({"no rows", {}});
    shapes.push_back({"one row without entries", {0}});
    shapes.push_back({"rows without entries", std::vector<std::uint64_t>(100)});
    shapes.push_back({"one entry", {1}});
    std::vector<std::uint64_t> rising;
    for (std::uint64_t n = 0; n < 70; ++n) rising.push_back(n);
    shapes.push_back({"every length to 69", rising});
    shapes.push_back({"one full row", {0, 0, 3000, 0, 0, 0, 0}});
    std::vector<std::uint64_t> arrow(700, 2);
    arrow[0] = 700;
    shapes.push_back({"arrow", arrow});
    std::vector<std::uint64_t> power;
    for (int i = 0; i < 900; ++i) power.push_back(2000 / (1 + random() % 2000));
    power[500] = 5000;
    shapes.push_back({"power law", power});
    std::vector<std::uint64_t> even(33 * 7, 5);
    shapes.push_back({"all alike", even});
    // T of the other rows: the long one is at, below and above 64 · T, and its rest shares a block with the next rows.
    for (const std::uint64_t length : {639u, 640u, 641u, 704u, 705u}) {
        std::vector<std::uint64_t> bound(4000, 1);
        bound[17] = length;
        shapes.push_back({"a row of " + std::to_string(length) + " among single ones", bound});
    }
    std::vector<std::uint64_t> holes;
    for (int i = 0; i < 500; ++i) holes.push_back(random() % 3 == 0 ? random() % 40 : 0);
    shapes.push_back({"holes", holes});
    return shapes;
}

}  // namespace quern
