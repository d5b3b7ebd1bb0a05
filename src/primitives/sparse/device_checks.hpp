// SPDX-License-Identifier: Apache-2.0
// The start of products on CUDA: checks the vectors, with the messages of the CPU (vectors.hpp).
#pragma once

#include <functional>

#include "device/span.hpp"
#include "primitives/argument_checks.hpp"
#include "quern/base/error.hpp"

namespace quern::primitives::sparse_cuda {

template <class Value, class Matrix>
void check_vectors(const Matrix& matrix, device_span<const Value> x, device_span<const Value> y) {
    check_same_size("multiply", "x", x.size(), "a row of the matrix", matrix.columns);
    check_same_size("multiply", "y", y.size(), "a column of the matrix", matrix.rows);
    const std::less<const Value*> before;
    if (!x.empty() && !y.empty() && before(x.data(), y.data() + y.size()) &&
        before(y.data(), x.data() + x.size()))
        throw usage_error("multiply: x and y overlap");
}

}  // namespace quern::primitives::sparse_cuda
