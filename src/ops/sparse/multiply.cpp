// SPDX-License-Identifier: Apache-2.0
// The entry points of y = A·x: choose the format, make it on the CPU and keep it on the place; or on several places, each of
// which holds a block of neighbouring rows with about as many entries as the others.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "device/cuda/caller_order.hpp"
#include "device/first_devices.hpp"
#include "device/input_array.hpp"
#include "device/resident_set.hpp"
#include "primitives/sparse/by_format.hpp"
#include "primitives/sparse/formats_impl.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/sparse.hpp"
#include "quern/ops/sparse_option_table.hpp"

namespace quern {
namespace {

using seconds_clock = std::chrono::steady_clock;

double seconds_since(seconds_clock::time_point begin) {
    return std::chrono::duration<double>(seconds_clock::now() - begin).count();
}

/// The format that `automatic` chooses; docs/primitives/sparse.md has the measurements. One row per lane is fastest with
/// little padding.
template <class Value>
sparse_storage best_storage(bool on_gpu, cpu_place& host, const primitives::csr_view<Value>& rows) {
    if (on_gpu) return sparse_storage::brcp;
    const auto entries = static_cast<double>(rows.column.size());
    const auto slots = static_cast<double>(primitives::brcp_slots(host, rows));  // checks `rows`
    return slots <= 1.1 * entries ? sparse_storage::brcp : sparse_storage::csr;
}

/// Whether rows have the same sums in any block of rows: not where the order of additions follows from all rows (brc,
/// brcp_paper), nor where all rows together decide what is refused (ell).
bool can_be_cut(sparse_storage storage) {
    return storage == sparse_storage::automatic || storage == sparse_storage::coo ||
           storage == sparse_storage::csr || storage == sparse_storage::brcp;
}

/// As many of the chosen devices as have enough entries each.
chosen_device devices_for(const chosen_device& chosen, sparse_storage storage, std::uint64_t entries,
                          std::uint64_t entries_a_device) {
    const std::uint64_t count = can_be_cut(storage) ? entries / entries_a_device : 1;
    return first_devices(chosen, std::max<std::uint64_t>(count, 1));
}

/// Blocks of neighbouring rows, one for each place.
template <class Value>
class row_blocks {
  public:
    /// Checks the matrix as a whole if there are several, so that errors name its positions.
    row_blocks(const context& ctx, const sparse_matrix_view<Value>& matrix, std::size_t count)
        : matrix_(matrix) {
        if (count == 1) return;
        cpu_place host(ctx);
        primitives::sparse_detail::check(
            host, primitives::csr_view<Value>{matrix.rows, matrix.columns, matrix.offsets, matrix.column,
                                              matrix.value});
        bounds_.push_back(0);
        for (std::size_t i = 1; i < count; ++i) {
            const std::uint64_t wanted = matrix.column.size() / count * i;
            const auto row = std::ranges::lower_bound(matrix.offsets, wanted) - matrix.offsets.begin();
            bounds_.push_back(std::clamp(static_cast<std::uint32_t>(row), bounds_.back(), matrix.rows));
        }
        bounds_.push_back(matrix.rows);
    }

    std::uint32_t first_row(std::size_t i) const { return bounds_.empty() ? 0 : bounds_[i]; }
    /// A block; `offsets` keeps those of its rows.
    sparse_matrix_view<Value> block(std::size_t i, std::vector<std::uint64_t>& offsets) const {
        if (bounds_.empty()) return matrix_;
        const std::uint64_t begin = matrix_.offsets[bounds_[i]], end = matrix_.offsets[bounds_[i + 1]];
        for (std::uint32_t row = bounds_[i]; row <= bounds_[i + 1]; ++row)
            offsets.push_back(matrix_.offsets[row] - begin);
        return {bounds_[i + 1] - bounds_[i], matrix_.columns, offsets,
                matrix_.column.subspan(begin, end - begin), matrix_.value.subspan(begin, end - begin)};
    }

  private:
    sparse_matrix_view<Value> matrix_;
    std::vector<std::uint32_t> bounds_;  ///< empty: one block
};

/// The rows of a place in its memory, in one format.
template <class Place, class Value>
class held_matrix {
  public:
    held_matrix(Place& place, cpu_place& host, const row_blocks<Value>& blocks, sparse_storage storage,
                std::size_t index)
        : place_(place), storage_(storage) {
        const auto begin = seconds_clock::now();
        std::vector<std::uint64_t> offsets;
        const sparse_matrix_view<Value> matrix = blocks.block(index, offsets);
        rows_ = matrix.rows;
        const primitives::csr_view<Value> rows{matrix.rows, matrix.columns, matrix.offsets, matrix.column,
                                               matrix.value};
        if (storage_ == sparse_storage::automatic)
            storage_ = best_storage(std::is_same_v<Place, cuda_place>, host, rows);
        primitives::with_format(host, storage_, rows, [&](auto made) {
            conversion_seconds_ = seconds_since(begin);
            bytes_ = primitives::bytes_of(made);
            matrix_ = primitives::to_place(place, std::move(made));
        });
        place.synchronise();
    }

    /// Writes the rows of the place to `y`.
    product<Value> multiply(std::span<const Value> x, std::uint32_t repeat, std::span<Value> y) {
        const input_array<Place, Value> x_on_place(place_, x, "the vector of a sparse product");
        const auto y_on_place = make_array<Value>(place_, rows_, "a sparse product");
        place_.synchronise();
        product<Value> result = repeated(x_on_place.span(), y_on_place.span(), repeat);
        copy_out<Value>(place_, y_on_place.span(), y);
        return result;
    }

    /// Whether the place's kernels can read the vector in place.
    bool lies_with(const data_location& where) const {
        if constexpr (std::is_same_v<Place, cpu_place>)
            return false;
        else
            return where.ordinal == place_.ordinal();
    }
    /// For a vector that lies with the matrix.
    product<Value> multiply(const device_numbers_view<Value>& x, std::uint32_t repeat) {
        product<Value> result;
        if constexpr (!std::is_same_v<Place, cpu_place>) {
            device_memory y(place_.ordinal(), rows_ * sizeof(Value));
            cuda::wait_for_caller(x.where, place_);
            result = repeated({x.values, x.size}, {static_cast<Value*>(y.data()), rows_}, repeat);
            result.device_y = std::move(y);
        }
        return result;
    }

    std::uint32_t rows() const { return rows_; }
    sparse_storage storage() const { return storage_; }
    std::uint64_t bytes() const { return bytes_; }

  private:
    /// The record of `repeat` products, which are complete.
    product<Value> repeated(span_on<Place, const Value> x, span_on<Place, Value> y, std::uint32_t repeat) {
        product<Value> result;
        result.storage = storage_;
        result.bytes = bytes_;
        result.conversion_seconds = std::exchange(conversion_seconds_, 0);
        for (std::uint32_t i = 0; i < repeat; ++i) {
            place_.ctx().check_stop();
            const auto started = seconds_clock::now();
            std::visit([&](const auto& matrix) { primitives::multiply_in(place_, storage_, matrix, x, y); },
                       matrix_);
            place_.synchronise();
            result.seconds.push_back(seconds_since(started));
        }
        return result;
    }

    Place& place_;
    std::uint32_t rows_ = 0;
    sparse_storage storage_;
    std::uint64_t bytes_ = 0;
    double conversion_seconds_ = 0;
    std::variant<primitives::csr_matrix<Place, Value>, primitives::coo_matrix<Place, Value>,
                 primitives::ell_matrix<Place, Value>, primitives::brc_matrix<Place, Value>,
                 primitives::brcp_matrix<Place, Value>>
        matrix_;
};

template <class Value>
struct matrix_of {
    template <class Place>
    using held = held_matrix<Place, Value>;
};

void check_size(std::uint64_t values, std::uint32_t columns) {
    if (values != columns)
        throw usage_error("the vector has " + std::to_string(values) + " values, but the matrix has " +
                          std::to_string(columns) + " columns");
}

}  // namespace

template <class Value>
struct resident_matrix<Value>::state {
    state(const context& ctx, const chosen_device& chosen, const sparse_matrix_view<Value>& view,
          sparse_storage storage, std::size_t count)
        : rows(view.rows),
          columns(view.columns),
          blocks(ctx, view, count),
          matrix(ctx, chosen, blocks,
                 count > 1 && storage == sparse_storage::automatic ? sparse_storage::brcp : storage) {}

    product<Value> multiply(std::span<const Value> x, std::uint32_t repeat) {
        std::vector<Value> y(rows);
        std::vector<product<Value>> parts(matrix.size());
        matrix.on_each([&](auto& held, std::size_t index) {
            parts[index] =
                held.multiply(x, repeat, std::span(y).subspan(blocks.first_row(index), held.rows()));
        });
        product<Value> result = std::move(parts[0]);
        for (const product<Value>& part : std::span(parts).subspan(1)) {
            result.bytes += part.bytes;
            result.conversion_seconds = std::max(result.conversion_seconds, part.conversion_seconds);
            for (std::size_t i = 0; i < repeat; ++i)
                result.seconds[i] = std::max(result.seconds[i], part.seconds[i]);
        }
        result.y = std::move(y);
        return result;
    }

    std::uint32_t rows, columns;
    row_blocks<Value> blocks;  ///< read when the matrices are made; later only the numbers of rows
    resident_set<matrix_of<Value>::template held> matrix;
};

template <class Value>
resident_matrix<Value>::resident_matrix(const sparse_matrix_view<Value>& matrix, sparse_storage storage,
                                        const context& ctx)
    : resident_matrix(
          matrix, storage, ctx,
          choose_device(ctx, "a sparse product",
                        can_be_cut(storage) ? offered_places::several_gpus : offered_places::all)) {}
template <class Value>
resident_matrix<Value>::resident_matrix(const sparse_matrix_view<Value>& matrix, sparse_storage storage,
                                        const context& ctx, const chosen_device& chosen,
                                        std::uint64_t entries_a_device) {
    const chosen_device used = devices_for(chosen, storage, matrix.column.size(), entries_a_device);
    state_ = std::make_unique<state>(ctx, used, matrix, storage, 1 + used.more.size());
}
template <class Value>
resident_matrix<Value>::~resident_matrix() = default;
template <class Value>
resident_matrix<Value>::resident_matrix(resident_matrix&&) noexcept = default;
template <class Value>
resident_matrix<Value>& resident_matrix<Value>::operator=(resident_matrix&&) noexcept = default;

template <class Value>
product<Value> resident_matrix<Value>::multiply(std::span<const Value> x, std::uint32_t repeat) {
    check_size(x.size(), columns());
    check_ranges(multiply_options{.repeat = repeat});
    product<Value> result = state_->multiply(x, repeat);
    result.place = place();
    return result;
}

template <class Value>
std::vector<Value> resident_matrix<Value>::multiply(std::span<const Value> x) {
    return multiply(x, 1).y;
}

template <class Value>
product<Value> resident_matrix<Value>::multiply(const device_numbers_view<Value>& x, std::uint32_t repeat) {
    check_size(x.size, columns());
    check_ranges(multiply_options{.repeat = repeat});
    if (!x.where.on_device())
        throw usage_error("a vector of a GPU that lies on the host (expected the number of the GPU)");
    product<Value> result;
    if (state_->matrix.size() == 1 &&
        state_->matrix.visit(0, [&](const auto& matrix) { return matrix.lies_with(x.where); })) {
        result = state_->matrix.visit(0, [&](auto& matrix) { return matrix.multiply(x, repeat); });
    } else {
        std::vector<Value> on_host(x.size);
        copy_to_host(x.where, x.values, std::as_writable_bytes(std::span(on_host)));
        result = multiply(on_host, repeat);
        result.device_y = device_memory(x.where.ordinal, result.y.size() * sizeof(Value));
        result.device_y.copy_in(std::as_bytes(std::span<const Value>(result.y)));
        result.y = {};
    }
    result.place = place();
    return result;
}

template <class Value>
std::uint32_t resident_matrix<Value>::rows() const {
    return state_->rows;
}
template <class Value>
std::uint32_t resident_matrix<Value>::columns() const {
    return state_->columns;
}
template <class Value>
sparse_storage resident_matrix<Value>::storage() const {
    return state_->matrix.visit(0, [](const auto& matrix) { return matrix.storage(); });
}
template <class Value>
std::uint64_t resident_matrix<Value>::bytes() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < state_->matrix.size(); ++i)
        sum += state_->matrix.visit(i, [](const auto& matrix) { return matrix.bytes(); });
    return sum;
}
template <class Value>
const std::string& resident_matrix<Value>::place() const {
    return state_->matrix.where();
}

template class resident_matrix<float>;
template class resident_matrix<double>;

template <class Value>
product<Value> multiply(const sparse_matrix_view<Value>& matrix, std::span<const Value> x,
                        const multiply_options& options, const context& ctx) {
    check_ranges(options);
    check_size(x.size(), matrix.columns);
    return resident_matrix<Value>(matrix, options.storage, ctx).multiply(x, options.repeat);
}

template product<float> multiply(const sparse_matrix_view<float>&, std::span<const float>,
                                 const multiply_options&, const context&);
template product<double> multiply(const sparse_matrix_view<double>&, std::span<const double>,
                                  const multiply_options&, const context&);

}  // namespace quern
