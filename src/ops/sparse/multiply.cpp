// SPDX-License-Identifier: Apache-2.0
// The entry point of y = A·x: chooses the format, makes it on the CPU and copies it to the place.
#include <algorithm>
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

#include "device/place.hpp"
#include "primitives/sparse/by_format.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/sparse.hpp"
#include "quern/ops/sparse_option_table.hpp"

namespace quern {
namespace {

using seconds_clock = std::chrono::steady_clock;

double seconds_since(seconds_clock::time_point begin) {
    return std::chrono::duration<double>(seconds_clock::now() - begin).count();
}

std::uint64_t longest_row(std::span<const std::uint64_t> offsets) {
    std::uint64_t longest = 0;
    for (std::size_t i = 1; i < offsets.size(); ++i) longest = std::max(longest, offsets[i] - offsets[i - 1]);
    return longest;
}

/// The format that `automatic` chooses; docs/primitives/sparse.md has the measurements. One row per lane is fastest with
/// little padding. Doubles, bound by arithmetic more than floats, tolerate more padding.
template <class Value>
sparse_storage best_storage(bool on_gpu, cpu_place& host, const primitives::csr_view<Value>& rows) {
    if (on_gpu) return sparse_storage::brcp;
    const auto entries = static_cast<double>(rows.column.size());
    const auto slots = static_cast<double>(primitives::brcp_slots(host, rows));  // checks `rows`
    if (slots <= 1.1 * entries) return sparse_storage::brcp;
    if (std::is_same_v<Value, float>) return sparse_storage::csr;
    if (static_cast<double>(longest_row(rows.offsets)) * rows.rows <= 1.5 * entries)
        return sparse_storage::ell;
    return slots <= 1.3 * entries ? sparse_storage::brcp : sparse_storage::csr;
}

template <class Value>
void check(const sparse_matrix_view<Value>& matrix, std::span<const Value> x,
           const multiply_options& options) {
    check_ranges(options);
    if (x.size() != matrix.columns) {
        throw usage_error("the vector has " + std::to_string(x.size()) + " values, but the matrix has " +
                          std::to_string(matrix.columns) + " columns");
    }
}

/// One call at one place.
template <class Place, class Value>
class multiplication {
  public:
    multiplication(Place& place, cpu_place& host, const sparse_matrix_view<Value>& matrix,
                   std::span<const Value> x, const multiply_options& options, product<Value>& result)
        : place_(place),
          host_(host),
          rows_{matrix.rows, matrix.columns, matrix.offsets, matrix.column, matrix.value},
          x_(x),
          options_(options),
          result_(result) {}

    void run() {
        const auto begin = seconds_clock::now();
        if (result_.storage == sparse_storage::automatic)
            result_.storage = best_storage(std::is_same_v<Place, cuda_place>, host_, rows_);
        primitives::with_format(host_, result_.storage, rows_,
                                [&](auto made) { run(std::move(made), begin); });
    }

  private:
    template <class Matrix>
    void run(Matrix made, seconds_clock::time_point begin) {
        result_.conversion_seconds = seconds_since(begin);
        result_.bytes = primitives::bytes_of(made);
        const auto matrix = primitives::to_place(place_, std::move(made));
        const auto x = array_from(place_, x_, "the vector of a sparse product");
        const auto y = make_array<Value>(place_, rows_.rows, "a sparse product");
        place_.synchronise();
        for (std::uint32_t i = 0; i < options_.repeat; ++i) {
            place_.ctx().check_stop();
            const auto started = seconds_clock::now();
            primitives::multiply_in(place_, result_.storage, matrix, x.span(), y.span());
            place_.synchronise();
            result_.seconds.push_back(seconds_since(started));
        }
        result_.y = to_host(place_, y.span());
    }

    Place& place_;
    cpu_place& host_;
    primitives::csr_view<Value> rows_;
    std::span<const Value> x_;
    multiply_options options_;
    product<Value>& result_;
};

}  // namespace

template <class Value>
product<Value> multiply(const sparse_matrix_view<Value>& matrix, std::span<const Value> x,
                        const multiply_options& options, const context& ctx) {
    check(matrix, x, options);
    const chosen_device chosen = choose_device(ctx, "a sparse product");
    context here = ctx;
    here.device = {chosen.cuda ? device_choice::kind::cuda : device_choice::kind::cpu, chosen.ordinal};
    product<Value> result;
    result.place = chosen.name + " (" + chosen.reason + ")";
    result.storage = options.storage;
    at_place(here, "a sparse product", [&](auto& place) {
        using place_type = std::decay_t<decltype(place)>;
        if constexpr (std::is_same_v<place_type, cpu_place>) {
            multiplication<place_type, Value>(place, place, matrix, x, options, result).run();
        } else {
            cpu_place host(here);
            multiplication<place_type, Value>(place, host, matrix, x, options, result).run();
        }
    });
    return result;
}

template product<float> multiply(const sparse_matrix_view<float>&, std::span<const float>,
                                 const multiply_options&, const context&);
template product<double> multiply(const sparse_matrix_view<double>&, std::span<const double>,
                                  const multiply_options&, const context&);

}  // namespace quern
