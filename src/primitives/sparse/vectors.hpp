// SPDX-License-Identifier: Apache-2.0
// The start of products on the CPU: checks the vectors, clears y.
#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include "device/cpu/parallel.hpp"
#include "primitives/argument_checks.hpp"
#include "quern/base/error.hpp"

namespace quern::primitives::sparse_detail {

template <class Value, class Matrix>
void check_vectors(const Matrix& matrix, std::span<const Value> x, std::span<const Value> y) {
    check_same_size("multiply", "x", x.size(), "a row of the matrix", matrix.columns);
    check_same_size("multiply", "y", y.size(), "a column of the matrix", matrix.rows);
    const std::less<const Value*> before;
    if (!x.empty() && !y.empty() && before(x.data(), y.data() + y.size()) &&
        before(y.data(), x.data() + x.size()))
        throw usage_error("multiply: x and y overlap");
}

template <class Value>
void fill_zero(cpu_place& place, std::span<Value> y) {
    const std::size_t pieces = pieces_for(place, y.size(), std::size_t{1} << 18);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(y.size(), pieces, p);
        std::fill(y.data() + begin, y.data() + end, Value(0));
    });
}

}  // namespace quern::primitives::sparse_detail
