// SPDX-License-Identifier: Apache-2.0
// How kernels read and sum components: the same values as components.hpp, with the device's own conversions; and the rank
// key of a complete sum.
#pragma once

#include <cuda_fp16.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/nearest/distance/components.hpp"
#include "ops/nearest/index/tile.hpp"

namespace quern::nearest_detail {

/// The exact value of a stored component; a byte for bits and for Hamming distances.
template <vector_type Type>
__device__ inline component_t<Type> loaded_value(stored_t<Type> stored) {
    if constexpr (Type == vector_type::f16)
        return __half2float(__ushort_as_half(stored));
    else
        return value_of<Type>(stored);
}

// ---- Sums ----

/// The type of a pair's sum. Integers are modulo 2^32 or 2^64, which is exact if the true sum fits: products are two's
/// complement.
template <class Sum>
concept pair_sum =
    std::floating_point<Sum> || std::same_as<Sum, std::uint32_t> || std::same_as<Sum, std::uint64_t>;

/// Joins two sums of one pair.
template <part_kind Kind, pair_sum Sum>
__device__ inline Sum joined(Sum a, Sum b) {
    if constexpr (Kind != part_kind::greatest)
        return a + b;
    else if constexpr (std::same_as<Sum, float>)
        return fmaxf(a, b);
    else if constexpr (std::same_as<Sum, double>)
        return fmax(a, b);
    else
        return a > b ? a : b;
}

/// Adds one pair of components to the sum.
template <part_kind Kind>
__device__ inline float with_part(float sum, float a, float b) {
    return joined<Kind>(sum, part<Kind>(a, b));
}
template <part_kind Kind>
__device__ inline double with_part(double sum, double a, double b) {
    return joined<Kind>(sum, part<Kind>(a, b));
}
template <part_kind Kind, std::unsigned_integral Sum>
__device__ inline Sum with_part(Sum sum, std::int32_t a, std::int32_t b) {
    if constexpr (Kind == part_kind::products) {
        return sum + static_cast<Sum>(static_cast<std::make_signed_t<Sum>>(a * b));  // at most 2^30
    } else if constexpr (Kind == part_kind::different_bits) {
        return sum + static_cast<Sum>(__popc(static_cast<unsigned>(a ^ b)));
    } else {
        const auto difference = static_cast<std::uint32_t>(a - b);
        if constexpr (Kind == part_kind::squares)  // below 2^32, so exact with any sign
            return sum + static_cast<Sum>(difference * difference);
        else
            return joined<Kind>(sum, static_cast<Sum>(a > b ? difference : 0 - difference));
    }
}

/// The partial sum `chain`: components chain, chain + 16, … of `count`.
template <vector_type Type, part_kind Kind, pair_sum Sum>
__device__ inline Sum partial_sum(const stored_t<Type>* a, const stored_t<Type>* b, std::uint32_t count,
                                  std::uint32_t chain) {
    Sum sum = 0;
#pragma unroll 4
    for (std::uint32_t i = chain; i < count; i += partial_sums)
        sum = with_part<Kind>(sum, loaded_value<Type>(a[i]), loaded_value<Type>(b[i]));
    return sum;
}

/// The tree over sixteen neighbouring lanes with a partial sum each. Lane 0 of the sixteen has the result. All lanes of the
/// warp must call it.
template <part_kind Kind, pair_sum Sum>
__device__ inline Sum tree_of_lanes(Sum sum) {
    for (unsigned half = partial_sums / 2; half != 0; half /= 2)
        sum = joined<Kind>(sum, __shfl_down_sync(0xffffffffu, sum, half, partial_sums));
    return sum;
}

/// The tree over the first N sums of a thread; the result is the first.
template <part_kind Kind, unsigned N, pair_sum Sum>
__device__ inline void tree_of_array(Sum* sums) {
    if constexpr (N > 1) {
#pragma unroll
        for (unsigned i = 0; i < N / 2; ++i) sums[i] = joined<Kind>(sums[i], sums[i + N / 2]);
        tree_of_array<Kind, N / 2>(sums);
    }
}

// ---- Rank keys ----

/// Converts a pair's sum to its key. Squares: of the tile and of the queries, for cosine.
template <class Key>
struct key_maker {
    vector_metric metric;
    const double *row_squares, *query_squares;

    template <pair_sum Sum>
    __device__ Key operator()(Sum sum, std::uint32_t query, std::uint32_t row) const {
        if constexpr (std::same_as<Sum, float>) {
            if (metric == vector_metric::cosine) return cosine_key(double{sum}, query, row);
            return metric == vector_metric::ip ? key_of_product(sum) : key_of_distance(sum);
        } else if constexpr (std::same_as<Sum, double>) {
            if (metric == vector_metric::cosine) {
                const cosine_sums sums = evened({sum, row_squares[row], query_squares[query]});
                return key_of_distance(
                    cosine_distance(sums.product, sums.x, sums.y, __dsqrt_rn(sums.x * sums.y)));
            }
            return static_cast<Key>(metric == vector_metric::ip ? key_of_product(sum) : key_of_distance(sum));
        } else {
            const std::int64_t product = static_cast<std::make_signed_t<Sum>>(sum);
            if (metric == vector_metric::cosine) return cosine_key(static_cast<double>(product), query, row);
            return metric == vector_metric::ip ? key_of_product<Key>(product) : static_cast<Key>(sum);
        }
    }

    /// The same for a kind known at compile time: without the inputs of the others.
    template <part_kind Kind, bool Cosine, pair_sum Sum>
    __device__ Key of(Sum sum, std::uint32_t query, std::uint32_t row) const {
        constexpr bool floating = std::same_as<Sum, float>;
        if constexpr (Cosine && floating)
            return cosine_key(double{sum}, query, row);
        else if constexpr (Cosine)
            return cosine_key(static_cast<double>(static_cast<std::make_signed_t<Sum>>(sum)), query, row);
        else if constexpr (Kind == part_kind::products && floating)
            return key_of_product(sum);
        else if constexpr (Kind == part_kind::products)
            return key_of_product<Key>(std::int64_t{static_cast<std::make_signed_t<Sum>>(sum)});
        else if constexpr (floating)
            return key_of_distance(sum);
        else
            return static_cast<Key>(sum);
    }

  private:
    __device__ Key cosine_key(double product, std::uint32_t query, std::uint32_t row) const {
        const double x = row_squares[row], y = query_squares[query];
        return key_of_distance(cosine_distance(product, x, y, __dsqrt_rn(x * y)));
    }
};

// ---- One implementation for all types and metrics ----

/// Whether sums of integers need 64 bits: if keys do, and for cosine, whose key does not limit the product's size.
constexpr bool needs_wide_sums(vector_type type, vector_metric metric, std::uint32_t dimensions,
                               bool wide_keys) {
    if (metric == vector_metric::cosine) {
        const std::uint64_t max = type == vector_type::i16 ? 32768u : type == vector_type::i8 ? 128u : 255u;
        return max * max * dimensions > 0x7fffffffu;
    }
    return wide_keys && metric != vector_metric::linf && metric != vector_metric::hamming;
}

template <vector_type Type, part_kind Kind, class Sum>
struct pair_traits {
    static constexpr vector_type type = Type;
    static constexpr part_kind kind = Kind;
    using sum = Sum;
};

template <class Key, vector_type Type, part_kind Kind, class Work>
void with_sum(vector_metric metric, std::uint32_t dimensions, Work&& work) {
    if constexpr (is_float(Type)) {
        work(pair_traits<Type, Kind, component_t<Type>>());
    } else if constexpr (Kind == part_kind::greatest || Kind == part_kind::different_bits) {
        work(pair_traits<Type, Kind, std::uint32_t>());
    } else {
        constexpr bool wide_keys = sizeof(Key) == 8;
        if constexpr (wide_keys || Kind == part_kind::products) {
            if (needs_wide_sums(Type, metric, dimensions, wide_keys))
                return work(pair_traits<Type, Kind, std::uint64_t>());
        }
        if constexpr (!wide_keys) work(pair_traits<Type, Kind, std::uint32_t>());
    }
}

/// Calls work(pair_traits<…>()) with the traits of such pairs; bytes for Hamming distances. Throws usage_error if the type
/// does not have the metric or the keys cannot be that wide.
template <class Key, class Work>
void with_pair_traits(vector_type type, vector_metric metric, std::uint32_t dimensions, Work&& work) {
    using enum part_kind;
    const part_kind kind = part_of(metric);
    const bool bytes = type == vector_type::bits || type == vector_type::u8;
    const bool floats = is_float(type) || metric == vector_metric::cosine;
    const bool wide = type == vector_type::f64 && metric != vector_metric::cosine;
    if ((kind == different_bits ? !bytes : type == vector_type::bits) ||
        (floats && sizeof(Key) != (wide ? 8 : 4)))
        throw usage_error("distances of vectors by a metric that their type does not have");
    if (kind == different_bits)
        return with_sum<Key, vector_type::u8, different_bits>(metric, dimensions, work);
    with_type(type, [&]<vector_type Type>(std::integral_constant<vector_type, Type>) {
        if constexpr (Type == vector_type::f64 && sizeof(Key) == 4) {
            return with_sum<Key, Type, products>(metric, dimensions, work);  // cosine
        } else if constexpr (Type != vector_type::bits &&
                             !(is_float(Type) && Type != vector_type::f64 && sizeof(Key) == 8)) {
            switch (kind) {
                case products:
                    return with_sum<Key, Type, products>(metric, dimensions, work);
                case differences:
                    return with_sum<Key, Type, differences>(metric, dimensions, work);
                case greatest:
                    return with_sum<Key, Type, greatest>(metric, dimensions, work);
                default:
                    return with_sum<Key, Type, squares>(metric, dimensions, work);
            }
        }
    });
}

/// Whether fast kernels exist for such sums and keys: for all except bytes in so many dimensions that their sums or keys
/// need 64 bits, 64-bit keys where 32 bits suffice, and doubles.
template <class Traits, class Key>
inline constexpr bool is_common =
    sizeof(Key) == 8 ? Traits::type == vector_type::i16 && Traits::kind != part_kind::differences &&
                           Traits::kind != part_kind::greatest
                     : sizeof(typename Traits::sum) == 4 || Traits::type == vector_type::i16;

/// As with_pair_traits, for the common cases; otherwise does nothing and returns false.
template <class Key, class Work>
bool with_common_traits(vector_type type, vector_metric metric, std::uint32_t dimensions, Work&& work) {
    bool done = false;
    with_pair_traits<Key>(type, metric, dimensions, [&]<class Traits>(Traits traits) {
        if constexpr (is_common<Traits, Key>) {
            work(traits);
            done = true;
        }
    });
    return done;
}

// ---- Arguments of kernels ----

/// Rows for kernels.
struct device_rows {
    const std::byte* values;
    std::uint64_t stride;

    template <vector_type Type>
    __device__ const stored_t<Type>* row(std::uint64_t i) const {
        return row_at<Type>(values, stride, i);
    }
};
inline device_rows device_view(const row_tile<cuda_place>& tile) {
    return {tile.values.data(), tile.stride};
}

/// Whether rows are whole words of sixteen bytes.
inline bool in_words(const row_tile<cuda_place>& tile) {
    return tile.stride % 16 == 0 && bytes_of_row(tile.type, tile.dimensions) % 16 == 0 &&
           reinterpret_cast<std::uintptr_t>(tile.values.data()) % 16 == 0;
}

/// The items summed for a pair: components, or bytes for Hamming distances.
constexpr std::uint32_t summed_items(const row_tile<cuda_place>& tile, vector_metric metric) {
    return metric == vector_metric::hamming
               ? static_cast<std::uint32_t>(bytes_of_row(tile.type, tile.dimensions))
               : tile.dimensions;
}

/// The pairs whose keys are requested: every query with every listed row; without a list: all rows in turn.
struct wanted_pairs {
    const std::uint32_t* rows;
    std::uint64_t size;  ///< rows for each query
    std::uint32_t queries;

    __device__ std::uint32_t row(std::uint64_t i) const {
        return rows != nullptr ? rows[i] : static_cast<std::uint32_t>(i);
    }
};
inline wanted_pairs pairs_of(const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                             device_span<const std::uint32_t> rows) {
    return {rows.empty() ? nullptr : rows.data(), rows.empty() ? tile.rows : rows.size(), queries.rows};
}

}  // namespace quern::nearest_detail
