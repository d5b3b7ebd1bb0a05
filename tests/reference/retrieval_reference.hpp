// SPDX-License-Identifier: Apache-2.0
// Exact retrieval by its contract: a vector is a list of doubles, a distance a number without rounding (rationals of long
// integers, and their roots to a hundred digits), a ranking a stable sort of everything. Also the rank keys of kernels
// (ops/nearest/distance/distance.hpp) in plain loops, and the same distances in long double, which show that the keys are
// near the truth.
#pragma once

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/nearest/distance/distance.hpp"
#include "quern/base/vectors.hpp"
#include "quern/ops/nearest.hpp"

namespace quern::reference {

using numbers = std::vector<double>;  // a vector's components, exact

// ---- Components ----

template <class T>
T read_as(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// sign, exponent of 5 bits with bias 15, fraction of 10 bits; the binary16 of IEEE 754.
inline double half_as_double(std::uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
    return half >> 15 != 0 ? -magnitude : magnitude;
}

inline double component(const vectors_view& view, std::uint64_t row, std::uint32_t j) {
    const std::byte* const at = view.values.data() + row * view.stride;
    switch (view.type) {
        case vector_type::f64:
            return read_as<double>(at + 8 * std::size_t{j});
        case vector_type::f32:
            return double{read_as<float>(at + 4 * std::size_t{j})};
        case vector_type::f16:
            return half_as_double(read_as<std::uint16_t>(at + 2 * std::size_t{j}));
        case vector_type::bf16:
            return double{
                std::bit_cast<float>(std::uint32_t{read_as<std::uint16_t>(at + 2 * std::size_t{j})} << 16)};
        case vector_type::i16:
            return static_cast<double>(read_as<std::int16_t>(at + 2 * std::size_t{j}));
        case vector_type::i8:
            return static_cast<double>(read_as<std::int8_t>(at + j));
        case vector_type::u8:
            return static_cast<double>(read_as<std::uint8_t>(at + j));
        default:
            return (read_as<std::uint8_t>(at + j / 8) >> (j % 8) & 1) != 0 ? 1.0 : 0.0;
    }
}

inline std::vector<numbers> components_of(const vectors_view& view) {
    std::vector<numbers> rows(view.rows, numbers(view.dimensions));
    for (std::uint64_t i = 0; i < view.rows; ++i)
        for (std::uint32_t j = 0; j < view.dimensions; ++j) rows[i][j] = component(view, i, j);
    return rows;
}
inline std::vector<numbers> components_of(const sparse_vectors_view& view) {
    std::vector<numbers> rows(view.rows, numbers(view.dimensions));
    for (std::uint64_t i = 0; i < view.rows; ++i)
        for (std::uint64_t e = view.offsets[i]; e < view.offsets[i + 1]; ++e)
            rows[i][view.columns[e - view.offsets[0]]] = double{view.values[e - view.offsets[0]]};
    return rows;
}

// ---- Sums ----

enum class summand { squared_difference, product, difference, bit_difference };

/// In the precision of Float, rounded after each operation (this is compiled without contraction), in sixteen partial sums
/// and a tree.
template <class Float>
Float canonical_sum(summand kind, bool greatest, const numbers& a, const numbers& b) {
    Float sums[16] = {};
    for (std::size_t j = 0; j < a.size(); ++j) {
        const auto x = static_cast<Float>(a[j]), y = static_cast<Float>(b[j]);
        Float part = kind == summand::product ? x * y : x - y;
        if (kind == summand::squared_difference) part = part * part;
        if (kind == summand::difference) part = std::fabs(part);
        sums[j % 16] = greatest ? std::max(sums[j % 16], part) : sums[j % 16] + part;
    }
    for (std::size_t half = 8; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i)
            sums[i] = greatest ? std::max(sums[i], sums[i + half]) : sums[i] + sums[i + half];
    return sums[0];
}

/// Number is std::int64_t or long double.
template <class Number>
Number direct_sum(summand kind, bool greatest, const numbers& a, const numbers& b) {
    Number sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
        const auto x = static_cast<Number>(a[j]), y = static_cast<Number>(b[j]), difference = x - y;
        Number part = difference < 0 ? -difference : difference;
        if (kind == summand::squared_difference) part = difference * difference;
        if (kind == summand::product) part = x * y;
        if (kind == summand::bit_difference)
            part = static_cast<Number>(
                std::popcount(static_cast<std::uint8_t>(a[j]) ^ unsigned{static_cast<std::uint8_t>(b[j])}));
        sum = greatest ? std::max(sum, part) : sum + part;
    }
    return sum;
}

inline summand summand_of(vector_metric metric) {
    switch (metric) {
        case vector_metric::l1:
        case vector_metric::linf:
            return summand::difference;
        case vector_metric::ip:
        case vector_metric::cosine:
            return summand::product;
        case vector_metric::hamming:
            return summand::bit_difference;
        default:
            return summand::squared_difference;
    }
}

// ---- Distances ----

inline double canonical_sum(vector_type type, summand kind, bool greatest, const numbers& a,
                            const numbers& b) {
    if (type == vector_type::f64) return canonical_sum<double>(kind, greatest, a, b);
    return double{canonical_sum<float>(kind, greatest, a, b)};
}

/// Σ a² for cosine.
inline double canonical_squares(vector_type type, const numbers& a) {
    if (nearest_detail::is_float(type)) return canonical_sum(type, summand::product, false, a, a);
    return static_cast<double>(direct_sum<std::int64_t>(summand::product, false, a, a));
}

/// Σab / √(Σa²·Σb²), each operation rounded once to double, with unlimited exponents.
inline double canonical_cosine(double product, double x, double y) {
    int of_x = 0, of_y = 0;
    std::frexp(x, &of_x);
    std::frexp(y, &of_y);
    of_x &= ~1;
    of_y &= ~1;
    return std::ldexp(std::ldexp(product, -of_x / 2), -of_y / 2) /
           std::sqrt(std::ldexp(x, -of_x) * std::ldexp(y, -of_y));
}

struct distance {
    long double order;  ///< smaller is better; holds every sum exactly
    double reported;
};

inline distance canonical_distance(vector_type type, vector_metric metric, const numbers& a,
                                   const numbers& b) {
    const bool is_float = nearest_detail::is_float(type), greatest = metric == vector_metric::linf;
    const summand kind = summand_of(metric);
    const long double sum = is_float
                                ? static_cast<long double>(canonical_sum(type, kind, greatest, a, b))
                                : static_cast<long double>(direct_sum<std::int64_t>(kind, greatest, a, b));
    const auto as_double = static_cast<double>(sum);
    if (metric == vector_metric::cosine) {
        const double x = canonical_squares(type, a), y = canonical_squares(type, b);
        const bool none = x == 0 || y == 0;
        const double cosine = none ? 0 : canonical_cosine(as_double, x, y);
        const auto found = none ? 1.0F : static_cast<float>(std::clamp(1 - cosine, 0.0, 2.0));
        return {static_cast<long double>(found), double{found}};
    }
    if (metric == vector_metric::ip) return {-sum, as_double + 0.0};
    return {sum, metric == vector_metric::l2 ? std::sqrt(as_double) : as_double};
}

/// The reported number without rounding, except that of long double.
inline long double true_distance(vector_metric metric, const numbers& a, const numbers& b) {
    const summand kind = summand_of(metric);
    const auto sum = direct_sum<long double>(kind, metric == vector_metric::linf, a, b);
    if (metric == vector_metric::cosine) {
        const auto x = direct_sum<long double>(kind, false, a, a),
                   y = direct_sum<long double>(kind, false, b, b);
        return x == 0 || y == 0 ? 1 : std::clamp<long double>(1 - sum / std::sqrt(x * y), 0, 2);
    }
    return metric == vector_metric::l2 ? std::sqrt(sum) : sum;
}

/// The rank key by the definition in distance.hpp. Key: uint32 for floats and cosine, uint64 for other distances of f64.
template <class Key>
Key canonical_key(vector_type type, vector_metric metric, const numbers& a, const numbers& b) {
    namespace detail = nearest_detail;
    const distance found = canonical_distance(type, metric, a, b);
    const bool product = metric == vector_metric::ip;
    if (metric != vector_metric::cosine && type == vector_type::f64) {
        const auto number = static_cast<double>(product ? -found.order : found.order);
        return static_cast<Key>(product ? detail::key_of_product(number) : detail::key_of_distance(number));
    }
    if (metric == vector_metric::cosine || detail::is_float(type)) {
        const auto number = static_cast<float>(product ? -found.order : found.order);
        return product ? detail::key_of_product(number) : detail::key_of_distance(number);
    }
    if (product) return detail::key_of_product<Key>(static_cast<std::int64_t>(-found.order));
    return static_cast<Key>(found.order);
}

// ---- The truth ----

using big_integer = boost::multiprecision::cpp_int;
using long_number = boost::multiprecision::cpp_bin_float_100;

/// Components as whole multiples of 2^unit.
struct whole_vectors {
    int unit = 0;
    std::vector<std::vector<big_integer>> rows;
    std::vector<std::vector<std::int64_t>>
        small;  ///< the same, where all are below 2^40: sums then fit 128 bits
};
inline int unit_of(const std::vector<numbers>& rows) {
    int least = 0;
    for (const numbers& row : rows)
        for (const double value : row) {
            int exponent = 0;
            std::frexp(value, &exponent);
            if (value != 0) least = std::min(least, std::max(exponent - 53, -1074));
        }
    return least;
}
inline whole_vectors whole_vectors_of(const std::vector<numbers>& rows, int unit) {
    whole_vectors made{.unit = unit, .rows = {}, .small = {}};
    double greatest = 0;
    for (const numbers& row : rows)
        for (const double value : row) greatest = std::max(greatest, std::fabs(value));
    if (std::ldexp(greatest, -unit) < 0x1p40) {
        for (const numbers& row : rows) {
            auto& whole = made.small.emplace_back();
            for (const double value : row)
                whole.push_back(static_cast<std::int64_t>(std::ldexp(value, -unit)));
        }
        return made;
    }
    for (const numbers& row : rows) {
        auto& whole = made.rows.emplace_back();
        for (const double value : row) {
            int exponent = 0;
            const double fraction = std::frexp(value, &exponent);
            const auto number = static_cast<std::int64_t>(std::ldexp(fraction, 53));
            const int shift = exponent - 53 - unit;
            whole.push_back(shift >= 0 ? big_integer(big_integer(number) << shift)
                                       : big_integer(big_integer(number) / (big_integer(1) << -shift)));
        }
    }
    return made;
}

/// To so many bits, ties to even; below 2^-1000 as double has it.
inline double rounded_to_bits(const long_number& value, int bits) {
    if (value == 0) return 0;
    int exponent = 0;
    const long_number fraction = frexp(value, &exponent);
    const int kept = exponent - 1 >= -1000 ? bits : std::min(53, exponent + 1074);
    if (kept < 0) return 0;
    const long_number scaled = ldexp(fraction, kept);
    long_number whole = floor(scaled);
    const long_number rest = scaled - whole;
    if (rest > 0.5 || (rest == 0.5 && fmod(whole, long_number(2)) != 0)) whole += 1;
    return std::ldexp(whole.convert_to<double>(), exponent - kept);
}

/// The number that rankings ascend by, as top / bottom: for cosine −s·|s| / x, because the query's length is the same for
/// all; and the reported number, for l2 the sum.
struct true_number {
    big_integer top, bottom = 1;
    double rounded = 0;
    bool operator<(const true_number& other) const { return top * other.bottom < other.top * bottom; }
};

struct whole_sums {
    big_integer sum = 0, x = 0, y = 0;
};
/// Sums in Number, of components that are whole numbers.
template <class Number, class Component>
whole_sums whole_sums_of(vector_metric metric, const std::vector<Component>& a,
                         const std::vector<Component>& b) {
    Number sum = 0, x = 0, y = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
        const Number left = a[j], right = b[j];
        const Number difference = left < right ? Number(right - left) : Number(left - right);
        switch (metric) {
            case vector_metric::ip:
                sum += left * right;
                break;
            case vector_metric::cosine:
                sum += left * right;
                x += left * left;
                y += right * right;
                break;
            case vector_metric::l1:
                sum += difference;
                break;
            case vector_metric::linf:
                sum = difference > sum ? difference : sum;
                break;
            default:
                sum += difference * difference;
        }
    }
    return {big_integer(sum), big_integer(x), big_integer(y)};
}

/// Of row i of one and row j of the other, both with one unit.
inline true_number true_number_of(vector_metric metric, const whole_vectors& rows, std::size_t i,
                                  const whole_vectors& queries, std::size_t q, int bits) {
    const bool small = !rows.small.empty() && !queries.small.empty();
    const auto long_row = [](const whole_vectors& of, std::size_t r) {
        if (of.small.empty()) return of.rows[r];
        return std::vector<big_integer>(of.small[r].begin(), of.small[r].end());
    };
    const auto [sum, x, y] =
        small ? whole_sums_of<__int128>(metric, rows.small[i], queries.small[q])
              : whole_sums_of<big_integer>(metric, long_row(rows, i), long_row(queries, q));
    const int unit = rows.unit;
    if (metric == vector_metric::cosine) {
        if (x == 0 || y == 0) return {0, 1, 1};
        // If both are nearly parallel, 1 − s/√(x·y) = (x·y − s²) / (x·y + s·√(x·y)) keeps all its digits.
        const long_number root = sqrt(long_number(big_integer(x * y)));
        const long_number distance =
            sum > 0 ? long_number(big_integer(x * y - sum * sum)) / (root * root + long_number(sum) * root)
                    : 1 - long_number(sum) / root;
        return {big_integer(-sum * abs(sum)), x, rounded_to_bits(distance, bits)};
    }
    const bool products = metric != vector_metric::l1 && metric != vector_metric::linf;
    const double rounded =
        rounded_to_bits(ldexp(long_number(big_integer(abs(sum))), products ? 2 * unit : unit), bits);
    if (metric == vector_metric::ip) return {big_integer(-sum), 1, sum < 0 ? -rounded : rounded};
    return {sum, 1, rounded};
}

// ---- Rankings ----

struct ranking {
    std::vector<std::uint32_t> ids;
    std::vector<double> distances;
};

/// The order of every row: ascending, equal ones by ascending id.
struct measured {
    true_number order;
    double reported = 0;
};

/// Everything that is allowed and within the radius, best first, equal ones by ascending id; the first k of it.
inline ranking rank_measured(vector_metric metric, const std::vector<measured>& rows,
                             const retrieval_options& options) {
    std::vector<std::uint32_t> ids;
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
        const double reported = rows[i].reported;
        if (!options.allowed.empty() && (options.allowed[i / 64] >> (i % 64) & 1) == 0) continue;
        if (options.radius &&
            (metric == vector_metric::ip ? reported < *options.radius : reported > *options.radius))
            continue;
        ids.push_back(i);
    }
    std::stable_sort(ids.begin(), ids.end(), [&](std::uint32_t left, std::uint32_t right) {
        return rows[left].order < rows[right].order;
    });
    if (options.k < ids.size()) ids.resize(options.k);
    ranking found{.ids = ids, .distances = {}};
    for (const std::uint32_t id : ids) found.distances.push_back(rows[id].reported);
    return found;
}

/// Distances of floats, and cosines, are real numbers, reported with 32 significant bits (of doubles 40); sums of integers
/// are integers.
inline std::vector<measured> measure_all(vector_type type, vector_metric metric,
                                         const std::vector<numbers>& rows, const whole_vectors& whole_rows,
                                         const numbers& query, const whole_vectors& whole_query,
                                         const retrieval_options& options) {
    std::vector<measured> found(rows.size());
    const bool real = nearest_detail::is_float(type) || metric == vector_metric::cosine;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!options.allowed.empty() && (options.allowed[i / 64] >> (i % 64) & 1) == 0) continue;
        if (!real) {
            const distance exact = canonical_distance(type, metric, rows[i], query);
            found[i] = {{big_integer(static_cast<std::int64_t>(exact.order)), 1, 0}, exact.reported};
            continue;
        }
        found[i].order =
            true_number_of(metric, whole_rows, i, whole_query, 0, type == vector_type::f64 ? 40 : 32);
        const double rounded = found[i].order.rounded;
        found[i].reported = metric == vector_metric::l2 ? std::sqrt(rounded) : rounded;
    }
    return found;
}

/// For every query.
inline rankings rank_all(vector_type type, vector_metric metric, const std::vector<numbers>& rows,
                         const std::vector<numbers>& queries, const retrieval_options& options) {
    rankings all{.offsets = {0}, .ids = {}, .distances = {}};
    const int unit = std::min(unit_of(rows), unit_of(queries));
    const whole_vectors whole_rows = whole_vectors_of(rows, unit);
    for (const numbers& query : queries) {
        const ranking one = rank_measured(
            metric,
            measure_all(type, metric, rows, whole_rows, query, whole_vectors_of({query}, unit), options),
            options);
        all.ids.insert(all.ids.end(), one.ids.begin(), one.ids.end());
        all.distances.insert(all.distances.end(), one.distances.begin(), one.distances.end());
        all.offsets.push_back(all.ids.size());
    }
    return all;
}
inline rankings rank_all(vector_metric metric, const vectors_view& rows, const vectors_view& queries,
                         const retrieval_options& options) {
    return rank_all(rows.type, metric, components_of(rows), components_of(queries), options);
}
inline rankings rank_all(vector_metric metric, const sparse_vectors_view& rows,
                         const sparse_vectors_view& queries, const retrieval_options& options) {
    return rank_all(vector_type::f32, metric, components_of(rows), components_of(queries), options);
}

}  // namespace quern::reference
