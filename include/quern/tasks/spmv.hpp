// SPDX-License-Identifier: Apache-2.0
// y = A·x for a matrix in a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/value_precision.hpp"
#include "quern/ops/sparse.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

struct spmv_options {
    std::filesystem::path matrix;  ///< Matrix Market; "-": standard input
    std::filesystem::path vector;  ///< one value per line, or a Matrix Market array; empty: all ones
    value_precision precision = value_precision::f64;
    multiply_options multiply;
    bool compare = false;  ///< also compute the error
};

/// Error of y relative to the exact sums μ, rounded to double; rows with μ = 0 are separate.
struct spmv_error {
    double relative = 0;           ///< Σ (y − μ)/μ, as in the BRCP paper (formula 4): errors cancel
    double absolute_relative = 0;  ///< Σ |y − μ|/|μ|
    double greatest = 0;           ///< the maximum |y − μ|/|μ|
    std::uint64_t wrong = 0;       ///< rows whose y is not μ rounded to the precision
    std::uint64_t zero_rows = 0;   ///< rows with μ = 0, and of these:
    double greatest_of_zero = 0;   ///< the maximum |y|
};

struct spmv_result {
    std::vector<double> y64;  ///< one of the two, by the precision
    std::vector<float> y32;
    std::uint32_t rows = 0, columns = 0;
    std::uint64_t entries = 0, bytes = 0;  ///< bytes: of the matrix as stored
    sparse_storage storage = sparse_storage::automatic;
    std::vector<double> seconds;  ///< of each product
    spmv_error error;             ///< if requested
    run_statistics statistics;
};

/// Throws usage_error, invalid_input (file, line, reason), io_error, out_of_memory, device_error, interrupted.
spmv_result spmv(const spmv_options& options, const context& ctx);

}  // namespace quern
