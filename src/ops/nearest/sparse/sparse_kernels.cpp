// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. Lanes are queries: an entry of a row is processed
// for sixteen queries in one step, and every lane adds its parts in the order of the columns. Lanes whose query lacks a
// column add the part of a zero, which for products is ±0 and changes nothing. Nothing is fused.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nearest/sparse/sparse_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <bit>
#include <cmath>

#include "hwy/highway.h"
#include "ops/nearest/sparse/sparse_kernels.hpp"
#include "primitives/chosen_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::nearest_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using primitives::HWY_NAMESPACE::put_chosen;
using floats = hn::CappedTag<float, group_queries>;
using words = hn::RebindToUnsigned<floats>;
using vector = hn::Vec<floats>;

constexpr std::size_t chunk = 256;  // entries of a row looked up together

// ---- Columns ----

/// The number of the group's columns with places below this one.
template <bool Exact>
HWY_INLINE std::size_t slots_before(const query_group& group, std::uint32_t place) {
    const std::uint32_t bucket = Exact ? place : place >> group.shift;
    const std::uint32_t word = group.present[bucket / 32], bit = 1u << bucket % 32;
    const std::size_t rank =
        group.before[bucket / 32] + static_cast<unsigned>(std::popcount(word & (bit - 1)));
    if constexpr (Exact) return rank;
    const std::uint32_t* const first = group.places + group.firsts[rank];
    if ((word & bit) == 0) return static_cast<std::size_t>(first - group.places);
    const std::uint32_t* const last = group.places + group.firsts[rank + 1];
    return static_cast<std::size_t>(std::lower_bound(first, last, place) - group.places);
}

/// The first `count` values there, padded with zeros.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_some(D d, const T* from, std::size_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
    HWY_ALIGN T all[group_queries] = {};
    std::copy_n(from, count, all);
    return hn::Load(d, all);
#else
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#endif
}

/// Copies the entries whose bucket a query has, in order; the output must hold `chunk` plus a vector. Returns their number.
HWY_INLINE std::size_t collect_present(const query_group& group, const std::uint32_t* columns,
                                       const float* values, std::size_t count, std::uint32_t* found_columns,
                                       float* found_values) {
    const words w;
    const floats f;
    const hn::RebindToSigned<words> i;
    const std::size_t lanes = hn::Lanes(w);
    const auto height = static_cast<int>(group.height), shift = static_cast<int>(group.shift);
    std::size_t found = 0;
    const auto take = [&](hn::Vec<words> column, vector value, hn::Mask<words> among) HWY_ATTR {
        const auto sum = hn::And(column, hn::Set(w, partial_sums - 1));
        const auto place = hn::Or(hn::ShiftLeftSame(sum, height), hn::ShiftRight<4>(column));
        const auto bucket = hn::ShiftRightSame(place, shift);
        const auto word = hn::GatherIndex(w, group.present, hn::BitCast(i, hn::ShiftRight<5>(bucket)));
        const auto bit = hn::Shl(hn::Set(w, 1), hn::And(bucket, hn::Set(w, 31)));
        const auto hit = hn::And(hn::TestBit(word, bit), among);
        put_chosen(f, value, hn::RebindMask(f, hit), found_values + found);
        found += put_chosen(w, column, hit, found_columns + found);
    };
    const auto all = hn::FirstN(w, lanes);
    std::size_t e = 0;
    for (; e + lanes <= count; e += lanes) take(hn::LoadU(w, columns + e), hn::LoadU(f, values + e), all);
    if (e < count)
        take(load_some(w, columns + e, count - e), load_some(f, values + e, count - e),
             hn::FirstN(w, count - e));
    return found;
}

// ---- Sums: sixteen partial sums of sixteen lanes ----

struct lane_sums {
    HWY_ALIGN float values[partial_sums][group_queries];
};

template <part_kind Kind>
HWY_INLINE vector joined(vector a, vector b) {
    if constexpr (Kind == part_kind::greatest)
        return hn::Max(a, b);
    else
        return hn::Add(a, b);
}

template <part_kind Kind>
HWY_INLINE vector part_of_pair(vector a, vector b) {
    if constexpr (Kind == part_kind::products) return hn::Mul(a, b);
    const vector difference = hn::Sub(a, b);
    if constexpr (Kind == part_kind::squares) return hn::Mul(difference, difference);
    return hn::Abs(difference);
}

HWY_INLINE void clear(lane_sums& sums) {
    const floats d;
    for (auto& own : sums.values)
        for (std::size_t k = 0; k < group_queries; k += hn::Lanes(d)) hn::Store(hn::Zero(d), d, own + k);
}

template <part_kind Kind>
HWY_INLINE vector joined_lanes(const lane_sums& sums, std::size_t k) {
    const floats d;
    vector tree[partial_sums / 2];
    for (std::size_t c = 0; c < partial_sums / 2; ++c)
        tree[c] = joined<Kind>(hn::Load(d, sums.values[c] + k), hn::Load(d, sums.values[c + 8] + k));
    for (std::size_t half = partial_sums / 4; half != 0; half /= 2)
        for (std::size_t c = 0; c < half; ++c) tree[c] = joined<Kind>(tree[c], tree[c + half]);
    return tree[0];
}

// ---- Keys ----

HWY_INLINE hn::Vec<words> keys_of_products(vector product) {
    const words w;
    const hn::RebindToSigned<words> i;
    const auto stored = hn::BitCast(w, hn::Add(product, hn::Zero(floats())));
    const auto negative = hn::BitCast(w, hn::BroadcastSignBit(hn::BitCast(i, stored)));
    const auto on_line = hn::Sub(hn::Xor(stored, hn::ShiftRight<1>(negative)), negative);
    return hn::Xor(on_line, hn::Set(w, 0x7fffffff));  // the top bit flipped, then every bit
}

/// For sql2: every operation is exact.
HWY_INLINE hn::Vec<words> keys_of_exact_squares(vector product, double square, const double* squares) {
    const floats d;
    HWY_ALIGN float own[group_queries];
    for (std::size_t k = 0; k < hn::Lanes(d); ++k) own[k] = static_cast<float>(squares[k] + square);
    return hn::BitCast(words(), hn::Sub(hn::Load(d, own), hn::Add(product, product)));
}

/// From sixteen products.
HWY_INLINE void store_cosine_keys(const float* products, double square, const double* squares,
                                  std::uint32_t* keys) {
    const hn::CappedTag<double, group_queries / 2> d;
    const hn::Rebind<float, decltype(d)> f;
    const hn::RebindToUnsigned<decltype(f)> w;
    const auto x = hn::Set(d, square), zero = hn::Zero(d), one = hn::Set(d, 1.0), two = hn::Set(d, 2.0);
    for (std::size_t k = 0; k < group_queries; k += hn::Lanes(d)) {
        const auto y = hn::LoadU(d, squares + k);
        const auto cosine = hn::Div(hn::PromoteTo(d, hn::LoadU(f, products + k)), hn::Sqrt(hn::Mul(x, y)));
        const auto distance = hn::Sub(one, cosine);
        const auto low = hn::IfThenElse(hn::Lt(distance, zero), zero, distance);
        const auto held = hn::IfThenElse(hn::Gt(low, two), two, low);
        const auto none = hn::Or(hn::Eq(x, zero), hn::Eq(y, zero));
        const auto found = hn::DemoteTo(f, hn::IfThenElse(none, one, held));
        hn::StoreU(hn::BitCast(w, found), w, keys + k);
    }
}

// ---- Rows ----

/// add(column, value, slot) for every entry whose column the group has, in their order.
template <bool Exact, class Add>
HWY_INLINE void for_each_common(const query_group& group, sparse_row row, const Add& add) {
    std::uint32_t columns[chunk + group_queries];
    float values[chunk + group_queries];
    for (std::uint64_t first = 0; first < row.size; first += chunk) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(chunk, row.size - first));
        const std::size_t found =
            collect_present(group, row.columns + first, row.values + first, count, columns, values);
        for (std::size_t e = 0; e < found; ++e) {
            const std::uint32_t place = place_of_column(columns[e], group.height);
            const std::size_t slot = slots_before<Exact>(group, place);
            if (Exact || group.places[slot] == place) add(columns[e], values[e], slot);
        }
    }
}

template <bool Exact>
void product_keys(const query_group& group, const row_range& rows, vector_metric metric,
                  std::uint32_t* keys) {
    const floats d;
    lane_sums sums{};
    for (std::size_t i = rows.begin; i < rows.end; ++i, keys += group_queries) {
        const std::size_t id = rows.id(i);
        clear(sums);
        for_each_common<Exact>(group, rows.rows[id],
                               [&](std::uint32_t column, float value, std::size_t slot) HWY_ATTR {
                                   const float* const line = group.lines + slot * group_queries;
                                   float* const sum = sums.values[column % partial_sums];
                                   for (std::size_t k = 0; k < group_queries; k += hn::Lanes(d)) {
                                       const vector part = hn::Mul(hn::Set(d, value), hn::Load(d, line + k));
                                       hn::Store(hn::Add(hn::Load(d, sum + k), part), d, sum + k);
                                   }
                               });
        for (std::size_t k = 0; k < group_queries; k += hn::Lanes(d)) {
            const vector product = joined_lanes<part_kind::products>(sums, k);
            if (metric == vector_metric::cosine)
                hn::Store(product, d, sums.values[0] + k);
            else if (metric == vector_metric::ip)
                hn::StoreU(keys_of_products(product), words(), keys + k);
            else
                hn::StoreU(keys_of_exact_squares(product, rows.squares[id], group.squares + k), words(),
                           keys + k);
        }
        if (metric == vector_metric::cosine)
            store_cosine_keys(sums.values[0], rows.squares[id], group.squares, keys);
    }
}

/// Adds the parts of the slots from `next` to `end`, which are of one partial sum, `sum`.
template <part_kind Kind>
HWY_INLINE vector with_alone(const query_group& group, std::size_t next, std::size_t end, std::size_t k,
                             vector sum) {
    const floats d;
    const float* const parts = group.alone + k;
    for (; next < end; ++next) sum = joined<Kind>(sum, hn::Load(d, parts + next * group_queries));
    return sum;
}

template <part_kind Kind, bool Exact>
HWY_INLINE void add_merged(const query_group& group, sparse_row row, lane_sums& sums) {
    const floats d;
    HWY_ALIGN static constexpr float no_line[group_queries] = {};
    std::uint32_t next[partial_sums];  // the first slot whose parts are not yet added
    std::copy_n(group.starts, partial_sums, next);
    for (std::uint64_t e = 0; e < row.size; ++e) {
        const std::uint32_t column = row.columns[e], c = column % partial_sums;
        const std::uint32_t place = place_of_column(column, group.height);
        const std::size_t slot = slots_before<Exact>(group, place);
        const bool both = group.places[slot] == place;
        const float* const line = both ? group.lines + slot * group_queries : no_line;
        const vector own = hn::Set(d, row.values[e]);
        for (std::size_t k = 0; k < group_queries; k += hn::Lanes(d)) {
            const vector sum = with_alone<Kind>(group, next[c], slot, k, hn::Load(d, sums.values[c] + k));
            hn::Store(joined<Kind>(sum, part_of_pair<Kind>(own, hn::Load(d, line + k))), d,
                      sums.values[c] + k);
        }
        next[c] = static_cast<std::uint32_t>(slot + both);
    }
    for (std::size_t c = 0; c < partial_sums; ++c)
        for (std::size_t k = 0; k < group_queries; k += hn::Lanes(d)) {
            const vector sum = hn::Load(d, sums.values[c] + k);
            hn::Store(with_alone<Kind>(group, next[c], group.starts[c + 1], k, sum), d, sums.values[c] + k);
        }
}

template <part_kind Kind, bool Exact>
void merged_keys(const query_group& group, const row_range& rows, std::uint32_t* keys) {
    const floats d;
    lane_sums sums{};
    for (std::size_t i = rows.begin; i < rows.end; ++i, keys += group_queries) {
        clear(sums);
        add_merged<Kind, Exact>(group, rows.rows[rows.id(i)], sums);
        for (std::size_t k = 0; k < group_queries; k += hn::Lanes(d))
            hn::StoreU(hn::BitCast(words(), joined_lanes<Kind>(sums, k)), words(), keys + k);
    }
}

// ---- One query ----

template <bool Exact>
void single_product_keys(const query_group& group, const row_range& rows, vector_metric metric,
                         std::uint32_t* keys) {
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
        const std::size_t id = rows.id(i);
        float sums[partial_sums] = {};
        for_each_common<Exact>(group, rows.rows[id],
                               [&](std::uint32_t column, float value, std::size_t slot)
                                   HWY_ATTR { sums[column % partial_sums] += value * group.lines[slot]; });
        const float product = joined_sums<part_kind::products>(sums);
        if (metric == vector_metric::ip) {
            *keys++ = key_of_product(product);
            continue;
        }
        const double x = rows.squares[id], y = group.squares[0];
        const double root = metric == vector_metric::cosine ? std::sqrt(x * y) : 0;
        const float sum =
            metric == vector_metric::cosine ? product : static_cast<float>(x + y - 2 * double{product});
        *keys++ = key_of_parts(metric, sum, {x, y, root});
    }
}

/// `value`, or +0, without a branch.
HWY_INLINE float value_if(bool wanted, float value) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & (0u - std::uint32_t{wanted}));
}

/// As with_alone. Usually there are none, one or two: no branch decides between these.
template <part_kind Kind>
HWY_INLINE void add_alone(const float* alone, std::size_t next, std::size_t end, float& sum) {
    for (int step = 0; step < 2; ++step) {
        const bool left = next < end;
        add_part<Kind>(sum, value_if(left, alone[next]));
        next += left;
    }
    for (; next < end; ++next) add_part<Kind>(sum, alone[next]);
}

template <part_kind Kind, bool Exact>
void single_merged_keys(const query_group& group, const row_range& rows, std::uint32_t* keys) {
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
        const sparse_row row = rows.rows[rows.id(i)];
        float sums[partial_sums] = {};
        std::uint32_t next[partial_sums];
        std::copy_n(group.starts, partial_sums, next);
        for (std::uint64_t e = 0; e < row.size; ++e) {
            const std::uint32_t c = row.columns[e] % partial_sums,
                                place = place_of_column(row.columns[e], group.height);
            const std::size_t slot = slots_before<Exact>(group, place);
            const bool both = group.places[slot] == place;
            float sum = sums[c];
            add_alone<Kind>(group.alone, next[c], slot, sum);
            add_part<Kind>(sum, part<Kind>(row.values[e], value_if(both, group.lines[slot])));
            sums[c] = sum;
            next[c] = static_cast<std::uint32_t>(slot + both);
        }
        for (unsigned c = 0; c < partial_sums; ++c)
            add_alone<Kind>(group.alone, next[c], group.starts[c + 1], sums[c]);
        *keys++ = key_of_distance(joined_sums<Kind>(sums));
    }
}

template <part_kind Kind>
void merged_keys(const query_group& group, const row_range& rows, std::uint32_t* keys) {
    const bool exact = group.shift == 0;
    if (group.width == 1)
        exact ? single_merged_keys<Kind, true>(group, rows, keys)
              : single_merged_keys<Kind, false>(group, rows, keys);
    else
        exact ? merged_keys<Kind, true>(group, rows, keys) : merged_keys<Kind, false>(group, rows, keys);
}

void sparse_product_keys(const query_group& group, const row_range& rows, vector_metric metric,
                         std::uint32_t* keys) {
    const bool exact = group.shift == 0;
    if (group.width == 1)
        exact ? single_product_keys<true>(group, rows, metric, keys)
              : single_product_keys<false>(group, rows, metric, keys);
    else
        exact ? product_keys<true>(group, rows, metric, keys)
              : product_keys<false>(group, rows, metric, keys);
}

void sparse_merged_keys(const query_group& group, const row_range& rows, vector_metric metric,
                        std::uint32_t* keys) {
    switch (part_of(metric)) {
        case part_kind::differences:
            return merged_keys<part_kind::differences>(group, rows, keys);
        case part_kind::greatest:
            return merged_keys<part_kind::greatest>(group, rows, keys);
        default:
            return merged_keys<part_kind::squares>(group, rows, keys);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::nearest_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::nearest_detail {

HWY_EXPORT(sparse_product_keys);
HWY_EXPORT(sparse_merged_keys);

void sparse_product_keys(const query_group& group, const row_range& rows, vector_metric metric,
                         std::uint32_t* keys) {
    HWY_DYNAMIC_DISPATCH(sparse_product_keys)(group, rows, metric, keys);
}
void sparse_merged_keys(const query_group& group, const row_range& rows, vector_metric metric,
                        std::uint32_t* keys) {
    HWY_DYNAMIC_DISPATCH(sparse_merged_keys)(group, rows, metric, keys);
}

}  // namespace quern::nearest_detail
#endif
