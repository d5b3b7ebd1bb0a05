// SPDX-License-Identifier: Apache-2.0
// Properties of rank keys that need no distance: their number of bits, and those within a radius.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "ops/nearest/distance/distance.hpp"

namespace quern::nearest_detail {

/// Contains every component of the type.
constexpr integer_range range_of(vector_type type) {
    switch (type) {
        case vector_type::i16:
            return {-32768, 32767};
        case vector_type::i8:
            return {-128, 127};
        case vector_type::u8:
            return {0, 255};
        case vector_type::bits:
            return {0, 1};
        default:
            return {};
    }
}
constexpr integer_range joined(integer_range a, integer_range b) {
    return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
}

/// Whether keys are floats' or doubles', not integers'.
constexpr bool has_float_keys(vector_type type, vector_metric metric) {
    return is_float(type) || metric == vector_metric::cosine;
}

/// Whether keys have 64 bits: always for doubles; for integers if 32 do not suffice. `range`: of set and queries.
constexpr bool has_wide_keys(vector_type type, vector_metric metric, integer_range range,
                             std::uint32_t dimensions) {
    if (has_float_keys(type, metric)) return type == vector_type::f64 && metric != vector_metric::cosine;
    return !fits_32_bits(metric, range, dimensions);
}

/// No rank key has this bit or a higher one set. `range`: of integers in the set and the queries.
constexpr unsigned bits_of_keys(vector_type type, vector_metric metric, integer_range range,
                                std::uint32_t dimensions) {
    if (metric == vector_metric::cosine) return 31;  // no sign, and 2 is 0x40000000
    if (type == vector_type::f64) return metric == vector_metric::ip ? 64 : 63;
    if (is_float(type)) return metric == vector_metric::ip ? 32 : 31;
    const auto difference = static_cast<std::uint64_t>(std::int64_t{range.greatest} - range.least);
    const std::uint64_t d = dimensions;
    switch (metric) {
        case vector_metric::ip:
            return fits_32_bits(metric, range, dimensions) ? 32 : 64;
        case vector_metric::l1:
            return static_cast<unsigned>(std::bit_width(difference * d));
        case vector_metric::linf:
            return static_cast<unsigned>(std::bit_width(difference));
        case vector_metric::hamming:
            return static_cast<unsigned>(std::bit_width(type == vector_type::bits ? d : 8 * d));
        default:
            return static_cast<unsigned>(std::bit_width(difference * difference * d));
    }
}

/// The maximum key whose reported number is within the radius (at most it; for ip, at least); empty if there is none.
/// Reported numbers rise with the key (for ip they fall), so bisection finds it: exact, for any rounding of a root.
template <class Key>
std::optional<Key> limit_of_radius(vector_type type, vector_metric metric, double radius) {
    const auto within = [&](Key key) {
        const double reported = reported_of_key(type, metric, key);
        return metric == vector_metric::ip ? reported >= radius : reported <= radius;
    };
    Key least = 0, greatest = no_key<Key> - 1;
    if (has_float_keys(type, metric)) {
        // A key of 64 bits is a double's.
        using number = std::conditional_t<sizeof(Key) == 8, double, float>;
        constexpr number infinity = std::numeric_limits<number>::infinity();
        const bool product = metric == vector_metric::ip && is_float(type);
        least = product ? static_cast<Key>(key_of_product(infinity)) : Key{0};
        greatest = static_cast<Key>(product ? key_of_product(-infinity) : key_of_distance(infinity));
    }
    if (metric == vector_metric::cosine) greatest = static_cast<Key>(key_of_distance(2.0f));
    if (!within(least)) return {};
    while (least < greatest) {
        const Key middle = least + (greatest - least) / 2 + 1;  // not within: the limit is below it
        if (within(middle))
            least = middle;
        else
            greatest = middle - 1;
    }
    return least;
}

}  // namespace quern::nearest_detail
