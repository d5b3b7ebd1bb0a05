// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/spmv.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "device/cpu/parallel.hpp"
#include "io/matrix/read_matrix.hpp"
#include "primitives/sparse/exact_sum.hpp"
#include "quern/base/error.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {
namespace {

constexpr std::string_view for_what = "a matrix and its vector";

std::uint64_t bytes_in(const io::matrix_rows& matrix) {
    return matrix.offsets.span().size_bytes() + matrix.column.span().size_bytes() +
           matrix.value.span().size_bytes();
}

/// Values in the precision: rounded, into `narrowed`, if it is the narrower one.
template <class Value>
std::span<const Value> in_precision(std::span<const double> values, std::vector<Value>& narrowed) {
    if constexpr (std::is_same_v<Value, double>) {
        return values;
    } else {
        narrowed.assign(values.begin(), values.end());
        return narrowed;
    }
}

/// Each row's exact sum, rounded once to the precision: by long accumulators, independent of the products that they
/// check.
template <class Value>
std::vector<Value> right_sums(const sparse_matrix_view<Value>& matrix, std::span<const Value> x,
                              const context& ctx) {
    constexpr std::size_t rows_at_once = 4096;
    std::vector<Value> right(matrix.rows);
    cpu_place place(ctx);
    for_each_piece(place, (right.size() + rows_at_once - 1) / rows_at_once, [&](std::size_t piece) {
        ctx.check_stop();
        const std::size_t end = std::min<std::size_t>(right.size(), (piece + 1) * rows_at_once);
        for (std::size_t row = piece * rows_at_once; row < end; ++row) {
            primitives::exact_sum<Value> sum;
            for (std::uint64_t i = matrix.offsets[row]; i < matrix.offsets[row + 1]; ++i)
                sum.add_product(matrix.value[i], x[matrix.column[i]]);
            right[row] = sum.rounded();
        }
    });
    return right;
}

/// The exact sums for `matrix` and `x`, rounded to double.
template <class Value>
std::vector<double> exact_sums(const sparse_matrix_view<Value>& matrix, std::span<const Value> x,
                               const context& ctx) {
    const std::vector<double> values(matrix.value.begin(), matrix.value.end()), wide(x.begin(), x.end());
    const sparse_matrix_view<double> widened{matrix.rows, matrix.columns, matrix.offsets, matrix.column,
                                             values};
    context on_cpu = ctx;
    on_cpu.device = context::cpu().device;
    return multiply<double>(widened, wide, {.storage = sparse_storage::csr}, on_cpu).y;
}

template <class Value>
bool same_value(Value a, Value b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

template <class Value>
spmv_error error_of(std::span<const Value> y, std::span<const Value> right, std::span<const double> exact) {
    spmv_error error;
    for (std::size_t row = 0; row < y.size(); ++row) {
        const auto got = static_cast<double>(y[row]);
        const double wanted = exact[row];
        if (!same_value(y[row], right[row])) ++error.wrong;
        if (wanted == 0) {
            ++error.zero_rows;
            error.greatest_of_zero = std::max(error.greatest_of_zero, std::abs(got));
        } else if (std::isfinite(wanted) && std::isfinite(got)) {
            const double relative = (got - wanted) / wanted;
            error.relative += relative;
            error.absolute_relative += std::abs(relative);
            error.greatest = std::max(error.greatest, std::abs(relative));
        }
    }
    return error;
}

template <class Value>
void multiply_as(const io::matrix_rows& matrix, std::span<const double> x, const spmv_options& options,
                 const context& ctx, stage_clock& clock, spmv_result& result, std::vector<Value>& y) {
    const std::uint64_t read = bytes_in(matrix) + x.size_bytes();
    const std::uint64_t copies =
        std::is_same_v<Value, double> ? 0 : (matrix.value.size() + x.size()) * sizeof(Value);
    const context remaining = with_remaining_memory(ctx, read + copies, for_what);
    std::vector<Value> narrow_values, narrow_x;
    const std::span<const Value> values = in_precision<Value>(matrix.value.span(), narrow_values);
    const std::span<const Value> vector = in_precision<Value>(x, narrow_x);
    const sparse_matrix_view<Value> view{matrix.rows, matrix.columns, matrix.offsets.span(),
                                         matrix.column.span(), values};
    product<Value> made = multiply<Value>(view, vector, options.multiply, remaining);
    clock.end_stage("multiply", made.bytes * options.multiply.repeat);
    result.statistics.stages.push_back({"multiply/conversion", 0, made.conversion_seconds, made.bytes});
    result.storage = made.storage;
    result.bytes = made.bytes;
    result.seconds = std::move(made.seconds);
    if (options.compare) {
        result.error = error_of<Value>(made.y, right_sums<Value>(view, vector, remaining),
                                       exact_sums<Value>(view, vector, remaining));
        clock.end_stage("compare", 0);
    }
    y = std::move(made.y);
}

void note_statistics(const spmv_options& options, spmv_result& result) {
    auto& counts = result.statistics.counts;
    counts["rows"] = result.rows;
    counts["columns"] = result.columns;
    counts["entries"] = result.entries;
    counts["matrix_bytes"] = result.bytes;
    std::vector<double> seconds = result.seconds;
    std::ranges::sort(seconds);
    auto& measures = result.statistics.measures;
    measures["least_seconds"] = seconds.front();
    measures["median_seconds"] = seconds[seconds.size() / 2];
    if (!options.compare) return;
    measures["relative_error"] = result.error.relative;
    measures["absolute_relative_error"] = result.error.absolute_relative;
    measures["greatest_relative_error"] = result.error.greatest;
    measures["greatest_error_where_zero"] = result.error.greatest_of_zero;
    counts["wrong_rows"] = result.error.wrong;
    counts["zero_rows"] = result.error.zero_rows;
}

}  // namespace

spmv_result spmv(const spmv_options& options, const context& requested) {
    spmv_result result;
    const context ctx = pinned_to_device(requested, "spmv", result.statistics, offered_places::several_gpus);
    stage_clock clock(result.statistics);
    const auto source = io::open_bytes(options.matrix, ctx);
    const io::matrix_rows matrix = io::read_matrix(*source, ctx);
    // A file of one line can have billions of columns.
    const context remaining =
        with_remaining_memory(ctx, bytes_in(matrix) + matrix.columns * sizeof(double), for_what);
    std::vector<double> x;
    if (options.vector.empty()) {
        x.assign(matrix.columns, 1.0);
    } else {
        x = io::read_vector(options.vector, remaining);
        if (x.size() != matrix.columns) {
            throw invalid_input(options.vector.string(), 0,
                                "has " + std::to_string(x.size()) + " values, but the matrix has " +
                                    std::to_string(matrix.columns) + " columns");
        }
    }
    clock.end_stage("read", source->consumed());
    ctx.report({"multiply", 0, 0, "products"});
    result.rows = matrix.rows;
    result.columns = matrix.columns;
    result.entries = matrix.value.size();
    if (options.precision == value_precision::f64) {
        multiply_as<double>(matrix, x, options, ctx, clock, result, result.y64);
    } else {
        multiply_as<float>(matrix, x, options, ctx, clock, result, result.y32);
    }
    note_statistics(options, result);
    return result;
}

}  // namespace quern
