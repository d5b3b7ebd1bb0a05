// SPDX-License-Identifier: Apache-2.0
// One pair of sparse rows, part after part in the order of distance.hpp: the sums of their dense equivalents, because a
// component that both lack adds +0 to a sum that is never −0. A plain header, for every place.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/nearest/distance/components.hpp"
#include "ops/nearest/distance/distance.hpp"

namespace quern::nearest_detail {

/// A row's columns, strictly ascending, and their values.
struct sparse_row {
    const std::uint32_t* columns;
    const float* values;
    std::uint64_t size;
};

/// The positions of a tile's rows, in any memory.
struct sparse_rows {
    const std::uint64_t* offsets;
    const std::uint32_t* columns;
    const float* values;
    constexpr sparse_row operator[](std::uint64_t i) const {
        const std::uint64_t begin = offsets[i] - offsets[0];
        return {columns + begin, values + begin, offsets[i + 1] - offsets[i]};
    }
};
template <class Tile>
constexpr sparse_rows rows_of(const Tile& tile) {
    return {tile.offsets.data(), tile.columns.data(), tile.values.data()};
}

/// Adds a part to a partial sum; for linf, keeps the greater one.
template <part_kind Kind>
constexpr void add_part(float& sum, float part) {
    if constexpr (Kind == part_kind::greatest)
        sum = part > sum ? part : sum;
    else
        sum += part;
}

/// add(column, part) for every column that either row has, ascending; for products, that both have.
template <part_kind Kind, class Add>
constexpr void for_each_part(sparse_row a, sparse_row b, Add&& add) {
    std::uint64_t i = 0, j = 0;
    while (i < a.size && j < b.size) {
        const std::uint32_t of_a = a.columns[i], of_b = b.columns[j];
        const bool take_a = of_a <= of_b, take_b = of_b <= of_a;
        if (Kind != part_kind::products || (take_a && take_b)) {
            add(take_a ? of_a : of_b, part<Kind>(take_a ? a.values[i] : 0.0f, take_b ? b.values[j] : 0.0f));
        }
        i += take_a;
        j += take_b;
    }
    if constexpr (Kind != part_kind::products) {
        for (; i < a.size; ++i) add(a.columns[i], part<Kind>(a.values[i], 0.0f));
        for (; j < b.size; ++j) add(b.columns[j], part<Kind>(0.0f, b.values[j]));
    }
}

/// The tree over the sixteen partial sums. `sums` are `step` apart and are overwritten.
template <part_kind Kind>
constexpr float joined_sums(float* sums, unsigned step = 1) {
    for (unsigned half = partial_sums / 2; half != 0; half /= 2)
        for (unsigned i = 0; i < half; ++i) add_part<Kind>(sums[i * step], sums[(i + half) * step]);
    return sums[0];
}

/// The inputs of cosine for two rows: their sums of squares, and √(x·y).
struct two_lengths {
    double x = 0, y = 0, root = 0;
};

/// The rank key of a sum of parts; `lengths` for cosine only.
constexpr std::uint32_t key_of_parts(vector_metric metric, float sum, two_lengths lengths) {
    if (metric == vector_metric::ip) return key_of_product(sum);
    if (metric != vector_metric::cosine) return key_of_distance(sum);
    return key_of_distance(cosine_distance(double{sum}, lengths.x, lengths.y, lengths.root));
}

/// work(std::integral_constant<part_kind, …>) for a metric of sparse rows.
template <class Work>
decltype(auto) with_part_kind(vector_metric metric, Work&& work) {
    switch (part_of(metric)) {
        case part_kind::products:
            return work(std::integral_constant<part_kind, part_kind::products>());
        case part_kind::differences:
            return work(std::integral_constant<part_kind, part_kind::differences>());
        case part_kind::greatest:
            return work(std::integral_constant<part_kind, part_kind::greatest>());
        default:
            return work(std::integral_constant<part_kind, part_kind::squares>());
    }
}

}  // namespace quern::nearest_detail
