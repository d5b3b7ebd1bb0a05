// SPDX-License-Identifier: Apache-2.0
#include "ops/nearest/ranking/pair_distances.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/distance/distance_kernels.hpp"
#include "ops/nearest/distance/keys_cpu.hpp"
#include "ops/nearest/ranking/bounded_distance.hpp"

namespace quern::nearest_detail {
namespace {

/// Σ a² of integers, exactly, because it is far below 2^53.
template <vector_type Type>
double square_of_integers(const std::byte* row, std::uint32_t dimensions) {
    const auto* const values = row_at<Type>(row, 0, 0);
    return static_cast<double>(sum_of_row<Type, part_kind::products>(values, values, dimensions));
}

}  // namespace

pair_distances::pair_distances(cpu_place& place, const row_tile<cpu_place>& queries, vector_metric metric)
    : queries_(queries), metric_(metric) {
    const bool cosine = metric == vector_metric::cosine;
    if (is_float(queries.type)) {
        stride_ = (std::size_t{queries.dimensions} + value_unit - 1) / value_unit * value_unit;
        components_ = make_array<double>(place, queries.rows * stride_, "the queries in double precision");
    }
    if (cosine) squares_.resize(queries.rows), roots_.resize(queries.rows);
    const std::size_t pieces = pieces_for(place, queries.rows, 64);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(queries.rows, pieces, p);
        for (std::size_t q = begin; q < end; ++q) {
            const std::byte* const from = queries.values.data() + q * queries.stride;
            with_type(queries.type, [&](auto type) {
                if constexpr (is_float(type())) {
                    double* const to = components_.data() + q * stride_;
                    std::fill_n(to, stride_, 0.0);
                    const auto* const stored = row_at<type()>(from, 0, 0);
                    for (std::uint32_t j = 0; j < queries.dimensions; ++j)
                        to[j] = static_cast<double>(value_of<type()>(stored[j]));
                    if (!cosine) return;
                    squares_[q] = sum_of_squares(to, queries.dimensions);
                    if (type() == vector_type::f64 && squares_[q] < min_square) {
                        for (std::uint32_t j = 0; j < queries.dimensions; ++j) to[j] *= lifting;
                        squares_[q] = sum_of_squares(to, queries.dimensions);
                    }
                } else if constexpr (type() != vector_type::bits) {
                    if (cosine) squares_[q] = square_of_integers<type()>(from, queries.dimensions);
                }
            });
            if (cosine) roots_[q] = std::sqrt(squares_[q]);
        }
    });
}

template <class Stored>
void pair_distances::measure_floats(const Stored* row, std::size_t first, std::size_t count, double* values,
                                    scratch& mine) const {
    const std::size_t dimensions = queries_.dimensions;
    double x = 0, root_x = 0;
    if (metric_ == vector_metric::cosine) {
        x = sum_of_squares(row, dimensions);
        if constexpr (sizeof(Stored) == 8) {
            if (x < min_square) {
                mine.doubles.assign(row, row + dimensions);
                for (double& value : mine.doubles) value *= lifting;
                row = mine.doubles.data();
                x = sum_of_squares(row, dimensions);
            }
        }
        root_x = std::sqrt(x);
    }
    sum_values(part_of(metric_), row, components_.data() + first * stride_, stride_, count, dimensions,
               values);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = metric_ == vector_metric::cosine
                        ? value_of_sums(metric_, values[i], x, squares_[first + i], root_x, roots_[first + i])
                        : value_of_sums(metric_, values[i], 0, 0, 0, 0);
}

template <vector_type Type>
void pair_distances::measure_integers(const std::byte* row, std::size_t first, std::size_t count,
                                      double* values) const {
    const double x = square_of_integers<Type>(row, queries_.dimensions), root_x = std::sqrt(x);
    for (std::size_t i = 0; i < count; ++i) {
        const auto* const query = row_at<Type>(queries_.values.data(), queries_.stride, first + i);
        const auto product =
            sum_of_row<Type, part_kind::products>(row_at<Type>(row, 0, 0), query, queries_.dimensions);
        values[i] = value_of_sums(metric_, static_cast<double>(product), x, squares_[first + i], root_x,
                                  roots_[first + i]);
    }
}

void pair_distances::measure(const std::byte* row, std::size_t first, std::size_t count, double* values,
                             scratch& mine) const {
    with_type(queries_.type, [&](auto type) {
        if constexpr (type() == vector_type::f32 || type() == vector_type::f64) {
            measure_floats(row_at<type()>(row, 0, 0), first, count, values, mine);
        } else if constexpr (is_float(type())) {
            mine.floats.resize(queries_.dimensions);
            widen_floats(type(), row, queries_.dimensions, mine.floats.data());
            measure_floats(mine.floats.data(), first, count, values, mine);
        } else if constexpr (type() != vector_type::bits) {
            measure_integers<type()>(row, first, count, values);
        }
    });
}

double sparse_value(vector_metric metric, sparse_row row, sparse_row query) {
    const auto sum_with = [&](auto kind, sparse_row a, sparse_row b) {
        std::array<double, partial_sums> sums{};
        for_each_pair(a, b, kind == part_kind::products, [&](std::uint32_t column, float x, float y) {
            double& sum = sums[column % partial_sums];
            sum = joined<kind, double>(sum, part<kind>(double{x}, double{y}));
        });
        for (std::size_t half = partial_sums / 2; half > 0; half /= 2)
            for (std::size_t i = 0; i < half; ++i) sums[i] = joined<kind, double>(sums[i], sums[i + half]);
        return sums[0];
    };
    const double sum = with_part_kind(metric, [&](auto kind) { return sum_with(kind, row, query); });
    if (metric != vector_metric::cosine) return value_of_sums(metric, sum, 0, 0, 0, 0);
    constexpr std::integral_constant<part_kind, part_kind::products> products;
    const double x = sum_with(products, row, row), y = sum_with(products, query, query);
    return value_of_sums(metric, sum, x, y, std::sqrt(x), std::sqrt(y));
}

}  // namespace quern::nearest_detail
