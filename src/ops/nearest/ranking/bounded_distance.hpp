// SPDX-License-Identifier: Apache-2.0
// Values: distances in double precision with an error bound, for all metrics and types whose sums are rounded (floats, and
// the cosine of every type). They order almost every pair of rows, and give almost every reported number;
// exact_distance.hpp decides the rest. So neither an order nor a reported number depends on how a value was computed: sums
// may be formed in any order, fused or not, and differ from place to place. A plain header, for every place.
//
// Rankings ascend by value: for sql2 and l2 Σ (a − b)², for ip −Σ a·b, for l1 and linf the distance, for cosine 1 − Σ a·b /
// √(Σ a²·Σ b²) in [0, 2], exactly 1 if a vector has length 0.
//
// Requirements for the bounds to hold (u = 2^-53):
// - components as doubles, which is exact;
// - a part with at most three roundings, no chain of more than ⌈d/16⌉ + 8 additions to a sum, in double.
// - Underflow can only come from doubles: parts lose at most 2^-1074; if a sum of squares is below `min_square`, for
//   cosine, both vectors are first multiplied by `lifting`.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "ops/nearest/distance/rank_keys.hpp"
#include "ops/nearest/index/tile.hpp"
#include "ops/nearest/quantized/quantized_bounds.hpp"

namespace quern::nearest_detail {

/// Whether sums are rounded, so that their keys do not decide which row is nearer.
constexpr bool has_values(vector_type type, vector_metric metric) {
    return has_float_keys(type, metric);
}

// ---- Reported numbers ----

/// Significant bits of a reported number; for l2, of the sum whose root is reported.
constexpr unsigned reported_bits(vector_type type) {
    return type == vector_type::f64 ? 40 : 32;
}
/// The number of these that a value between 2^exponent and twice that has: near the smallest doubles, all that exist.
constexpr int bits_kept(unsigned bits, int exponent) {
    return exponent >= -1000 ? static_cast<int>(bits) : std::min(53, exponent + 1075);
}
/// Rounds to so many significant bits, ties to even. Doubles below 2^-1000 do not change.
constexpr double rounded_to(unsigned bits, double value) {
    const auto all = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t exponent = all >> 52 & 0x7ff;
    if (exponent < 23 || exponent == 0x7ff) return value;
    const unsigned cut = 53 - bits;
    const std::uint64_t half = (std::uint64_t{1} << (cut - 1)) - 1 + (all >> cut & 1);
    return std::bit_cast<double>((all + half) >> cut << cut);
}

// ---- Bounds ----

/// The true number of a value v is between lower(v) and upper(v).
struct value_bound {
    double relative = 0, absolute = 0;
    double least = 0;                                      ///< no true number is below
    double greatest = std::numeric_limits<double>::max();  ///< overflow: the number is nearly this or above

    constexpr double lower(double v) const {
        v = std::min(v, greatest) - absolute;
        return std::max(least, v - (v < 0 ? -v : v) * relative);
    }
    constexpr double upper(double v) const {
        v += absolute;
        return v + (v < 0 ? -v : v) * relative;
    }
    constexpr bool exact() const { return relative == 0 && absolute == 0; }
};

/// The maximum error of sums in double, relative to the sizes of their parts, plus a quarter.
constexpr double value_error(std::uint32_t dimensions) {
    const std::uint32_t roundings = dimensions / 16 + 20;
    return static_cast<double>(roundings) * 0x1.4p-53;
}

inline constexpr double min_square = 0x1p-900;
inline constexpr double lifting = 0x1p600;  ///< brings any such length back into the range of double

/// `reach`: at least |a|·|b| of all rows and the query; for ip only.
constexpr value_bound bound_of_values(vector_type type, vector_metric metric, std::uint32_t dimensions,
                                      double reach) {
    const double error = value_error(dimensions);
    value_bound bound;
    switch (metric) {
        case vector_metric::ip:
            bound.absolute = error * reach;
            bound.least = -std::numeric_limits<double>::infinity();
            break;
        case vector_metric::cosine:  // of products once, of both sums of squares half; eight more roundings
            bound.absolute = 2 * error + 0x1p-50;
            break;
        default:
            bound.relative = error;
    }
    if (type == vector_type::f64 && metric != vector_metric::cosine)
        bound.absolute += static_cast<double>(dimensions) * 0x1p-1070;
    return bound;
}

/// The same for rank keys of 32 bits (distance.hpp), as numbers. Not for f64; for cosine only if all vectors are long
/// enough (shard::has_short_rows).
constexpr value_bound bound_of_keys(vector_type type, vector_metric metric, std::uint32_t dimensions,
                                    double reach) {
    const double error = 2 * canonical_error(dimensions);
    value_bound bound;
    bound.greatest = double{std::numeric_limits<float>::max()};
    const double underflow = 2 * canonical_underflow(dimensions);
    switch (metric) {
        case vector_metric::ip:
            bound.absolute = error * reach + underflow;
            bound.least = -std::numeric_limits<double>::infinity();
            break;
        case vector_metric::cosine:
            bound.absolute = 2 * cosine_error({type, metric, dimensions});
            bound.relative = 0x1p-22;
            break;
        default:
            bound.relative = 2 * error;
            bound.absolute = underflow;
    }
    return bound;
}
/// So that 1 / (1 − error) is below 1 + 2·error.
constexpr bool keys_are_bounded(std::uint32_t dimensions) {
    return dimensions <= 1u << 24;
}

/// A row's sum of squares in f32 may have lost some or all digits to underflow.
constexpr bool is_short(double square) {
    return square < 0x1p-90;
}

// ---- Keys ----

/// 64 bits, for sums in double.
constexpr std::uint64_t key_of_value(vector_metric metric, double value) {
    return metric == vector_metric::ip ? key_of_product(-value) : key_of_distance(value);
}
constexpr double value_of_key(vector_metric metric, std::uint64_t key) {
    return metric == vector_metric::ip ? -product_of_key(key) : distance_of_key(key);
}
/// 32 bits: the value that rankings by keys ascend by.
constexpr double value_of_key(vector_metric metric, std::uint32_t key) {
    return metric == vector_metric::ip ? -double{product_of_key(key)} : double{distance_of_key(key)};
}

/// No row whose reported number is within the radius has a greater value; empty if there is none.
inline std::optional<double> value_of_radius(vector_metric metric, double radius) {
    constexpr double rounding = 0x1p-31;  // a reported number's, and the root's
    if (metric == vector_metric::ip) return -radius + std::fabs(radius) * rounding + 0x1p-1073;
    if (radius < 0) return {};
    const double number = metric == vector_metric::l2 ? radius * radius : radius;
    return number + number * rounding + 0x1p-1073;
}

/// The maximum key that a row within `greatest` may have.
template <class Key>
constexpr Key key_within(vector_metric metric, double greatest) {
    if constexpr (sizeof(Key) == 8) return key_of_value(metric, greatest);
    constexpr double max = double{std::numeric_limits<float>::max()};
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float rounded = greatest >= max ? infinity : greatest < -max ? -infinity : rounded_up(greatest);
    return metric == vector_metric::ip ? key_of_product(-rounded) : key_of_distance(rounded);
}

// ---- Computation ----

/// keys[q · n + i]: key_of_value of query q and row rows[i], n = rows.size(); no rows given: of row i, n = tile.rows. CUDA:
/// does not synchronise.
void value_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                vector_metric metric, std::span<const std::uint32_t> rows, std::span<std::uint64_t> keys);
void value_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, device_span<const std::uint32_t> rows, device_span<std::uint64_t> keys);
void value_keys(cpu_place& place, const sparse_tile<cpu_place>& tile, const sparse_tile<cpu_place>& queries,
                vector_metric metric, std::span<const std::uint32_t> rows, std::span<std::uint64_t> keys);

/// A value from its sums; x, y: sums of squares, for cosine. Both below min_square or neither needs lifting.
constexpr double value_of_sums(vector_metric metric, double sum, double x, double y, double root_x,
                               double root_y) {
    if (metric == vector_metric::ip) return -sum;
    if (metric != vector_metric::cosine) return sum;
    if (x == 0 || y == 0) return 1;
    const double distance = 1 - sum / root_x / root_y;
    return distance < 0 ? 0 : distance > 2 ? 2 : distance;
}

}  // namespace quern::nearest_detail
