// SPDX-License-Identifier: Apache-2.0
// The bounds of the filter (quantized.hpp), with every rounding: the terms of a row and of a query from sums over their
// components, a query's limit from the k-th best key, and the number that compares the two. The proofs are in
// docs/nearest_neighbours_filter.md; each step here names the error it covers. A plain header, for every place. The caller
// takes roots, because their functions are not constexpr.
//
// The caller's computation for every row and every query, where v is the coded vector (sql2, l2: v = x − µ, with integer µ
// for types of integers; ip, cosine: v = x):
//     s   = scale_of(max |v|, whether all v are whole)
//     c_j = v_j / s, rounded in any way to one of −127 … 127; 0 if s is 0
//     Σ v_j², Σ (v_j − s·c_j)² in double, in any order, and Σ c_j². Each v_j and each v_j − s·c_j may be rounded to f32;
//     s·c_j is exact in f32, because s has 16 significant bits.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "ops/nearest/distance/distance.hpp"

namespace quern::nearest_detail {

/// The parameters of the bounds besides the vectors.
struct quantized_kind {
    vector_type type = vector_type::f32;
    vector_metric metric = vector_metric::l2;
    std::uint32_t dimensions = 0;

    constexpr bool by_difference() const {
        return metric == vector_metric::sql2 || metric == vector_metric::l2;
    }
};

/// For one vector, rounded as above.
struct coded_sums {
    double squares = 0;    ///< Σ v_j²
    double norm = 0;       ///< its root
    double rest = 0;       ///< √ Σ (v_j − s·c_j)²
    double code_norm = 0;  ///< √ Σ c_j²
    float scale = 0;       ///< s
};

/// U = a + scale · (t · (c·e)) + rest · |y'| + size · σ. 16 bytes per row.
struct row_terms {
    float a = 0;
    float scale = 0;
    float rest = 0;
    float size = 0;
};
struct query_terms {
    float scale = 0;       ///< t
    float rest = 0;        ///< σ
    float size = 0;        ///< |y'|
    bool bounded = false;  ///< false: no bound, its limit is −∞
    double squares = 0;    ///< at most |y'|²
};

inline constexpr float no_limit = -std::numeric_limits<float>::infinity();

// ---- Roundings ----

/// A float that is at least v, as close as matters: a rounding takes at most 2^-24 of it, or 2^-150.
constexpr float rounded_up(double v) {
    return static_cast<float>(v + (v < 0 ? -v : v) * 0x1p-22 + 0x1p-148);
}
constexpr float rounded_down(double v) {
    return -rounded_up(-v);
}

/// The error of a coder that rounds to f32, in norms, their squares and rests, relative to the norm: 2^-24 of each
/// component and 2^-37 of a sum of 2^16 doubles, twice that in squares.
inline constexpr double coding_error = 0x1p-22;
/// The error of computing U in f32: at most six roundings of 2^-24 on each of its terms. Twice that, and more.
inline constexpr double evaluation_error = 0x1p-20;

/// The maximum error of the canonical sum of a row's parts (distance.hpp), relative to the sum of the parts' sizes: three
/// roundings per part, ⌈d/16⌉ − 1 in its partial sum, four in the tree; γ_m = m·u / (1 − m·u), m = d/16 + 8.
constexpr double canonical_error(std::uint32_t dimensions) {
    const std::uint32_t roundings = dimensions / 16 + 8;
    const double error = static_cast<double>(roundings) * 0x1p-24;
    return error / (1 - error);
}
/// The maximum loss of such a sum by underflow: 2^-150 per part.
constexpr double canonical_underflow(std::uint32_t dimensions) {
    return static_cast<double>(dimensions) * 0x1p-149;
}
/// The maximum error of the canonical cosine: the sum of products, and the root of both sums of squares, by
/// canonical_error; their products and double arithmetic.
constexpr double cosine_error(const quantized_kind& kind) {
    if (!is_float(kind.type)) return 0x1p-40;
    return 2 * canonical_error(kind.dimensions) * (1 + 0x1p-8) + 0x1p-30;
}

// ---- Coding ----

/// Outside these limits nothing is bounded, so that no product overflows and no factor is lost by underflow.
inline constexpr double max_norm = 0x1p62;
inline constexpr double min_cosine_norm = 0x1p-49;  ///< below it canonical sums of squares may underflow
inline constexpr float min_scale = 0x1p-100f;

/// s, or 0 if all codes are to be 0. Integers up to 127 are their own codes, without error.
constexpr float scale_of(float greatest, bool whole) {
    const float scale = greatest / 127.0f;
    if (!(scale >= min_scale) || greatest > static_cast<float>(max_norm)) return 0;
    if (whole && scale <= 1) return 1;
    constexpr std::uint32_t beyond_16_bits = 0xff;
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(scale) + beyond_16_bits) & ~beyond_16_bits);
}

/// Whether a vector of this length can be bounded.
constexpr bool is_bounded(const quantized_kind& kind, double norm) {
    if (!(norm <= max_norm)) return false;
    return kind.metric != vector_metric::cosine || norm == 0 || norm >= min_cosine_norm;
}

/// The factor from v to x': the cosine takes vectors of length 1 (and of length 0).
constexpr double factor_of(const quantized_kind& kind, double norm) {
    if (kind.metric != vector_metric::cosine) return 1;
    return norm == 0 ? 0 : 1 / norm;
}

/// The maximum of |x' − scale·c|, where `scale` is s · factor rounded to f32.
constexpr double rest_of(const coded_sums& sums, double factor, float scale) {
    const double rest = sums.rest * (1 + coding_error) + coding_error * sums.norm + 0x1p-140;
    return rest * factor + 0x1p-23 * static_cast<double>(scale) * sums.code_norm;
}

constexpr row_terms row_terms_of(const quantized_kind& kind, const coded_sums& sums) {
    if (!is_bounded(kind, sums.norm)) return {0, 0, std::numeric_limits<float>::infinity(), 0};
    const double factor = factor_of(kind, sums.norm);
    row_terms row;
    row.scale = static_cast<float>(static_cast<double>(sums.scale) * factor);
    double rest = rest_of(sums, factor, row.scale);
    // The canonical product of floats is within canonical_error·|x|·|y| of the true one: that is also a rest times |y|.
    if (kind.metric == vector_metric::ip && is_float(kind.type))
        rest += canonical_error(kind.dimensions) * (1 + coding_error) * sums.norm;
    row.rest = rounded_up(rest * (1 + evaluation_error));
    row.size = rounded_up(static_cast<double>(row.scale) * sums.code_norm);
    if (kind.by_difference())
        row.a = rounded_up(-0.5 * sums.squares * (1 - coding_error) * (1 - evaluation_error));
    return row;
}

constexpr query_terms query_terms_of(const quantized_kind& kind, const coded_sums& sums) {
    query_terms query;
    query.bounded = is_bounded(kind, sums.norm);
    if (!query.bounded) return query;
    const double factor = factor_of(kind, sums.norm);
    query.scale = static_cast<float>(static_cast<double>(sums.scale) * factor);
    // The last addend: the maximum loss of scale · (t · (c·e)), at most size · t·|e|, when U is computed.
    query.rest = rounded_up(rest_of(sums, factor, query.scale) * (1 + evaluation_error) +
                            evaluation_error * static_cast<double>(query.scale) * sums.code_norm);
    query.size = rounded_up(sums.norm * (1 + coding_error) * factor);
    query.squares = sums.squares * (1 - coding_error);
    return query;
}

// ---- The comparison ----

/// U, with the sums in any order, fused or not. `product` = c·e.
constexpr float upper_bound(const row_terms& row, const query_terms& query, std::int32_t product) {
    return row.a + row.scale * (query.scale * static_cast<float>(product)) + row.rest * query.size +
           row.size * query.rest;
}
/// Not `U >= limit`: a row without a bound has U = ∞, or NaN if |y'| is 0.
constexpr bool is_candidate(float bound, float limit) {
    return !(bound < limit);
}

/// A row whose U is below it has a key greater than `key`, the query's k-th best so far; no_key if there are fewer.
template <class Key>
constexpr float limit_of_key(const quantized_kind& kind, const query_terms& query, Key key) {
    constexpr double lost = 0x1p-130;  // by underflow in U: four products, 2^-150 each
    if (!query.bounded || key == no_key<Key>) return no_limit;
    const bool floats = is_float(kind.type);
    if (kind.metric == vector_metric::cosine) {
        const double distance = static_cast<double>(distance_of_key(static_cast<std::uint32_t>(key)));
        if (distance >= 2) return no_limit;  // greater ones are clamped there
        return rounded_down(1 - distance * (1 + 0x1p-22) - cosine_error(kind));
    }
    if (kind.metric == vector_metric::ip) {
        if (!floats) return rounded_down(static_cast<double>(integer_product_of_key(key)) - lost);
        const auto product = static_cast<double>(product_of_key(static_cast<std::uint32_t>(key)));
        return rounded_down(product - canonical_underflow(kind.dimensions) - lost);
    }
    double max = static_cast<double>(key);  // |x' − y'|² of an equally good row
    if (floats) {
        const auto distance = static_cast<double>(distance_of_key(static_cast<std::uint32_t>(key)));
        max = (distance + canonical_underflow(kind.dimensions)) / (1 - canonical_error(kind.dimensions));
    }
    return rounded_down((query.squares - max * (1 + 0x1p-50)) / 2 - lost);
}

}  // namespace quern::nearest_detail
