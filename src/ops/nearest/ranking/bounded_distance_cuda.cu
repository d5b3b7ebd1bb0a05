// SPDX-License-Identifier: Apache-2.0
// Values on a GPU (bounded_distance.hpp): sixteen lanes take four rows at a time, so that a query's components are converted to
// doubles once for four rows, and four loads of sixteen bytes are in flight for each lane.
#include <algorithm>

#include "device/cuda/check.cuh"
#include "ops/nearest/distance/components.cuh"
#include "ops/nearest/ranking/bounded_distance.hpp"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned group = 16;        // lanes
constexpr unsigned rows_at_once = 4;  // of a group
constexpr unsigned block_rows = block_threads / group * rows_at_once;
constexpr unsigned max_queries = 65'535;
constexpr unsigned everyone = 0xffffffffu;

/// Neighbouring components of sixteen bytes.
template <vector_type Type>
struct alignas(16) stored_word {
    static constexpr unsigned size = 16 / sizeof(stored_t<Type>);
    stored_t<Type> at[size];
};

/// Components from `first` on of `count`; 0 past the last.
template <vector_type Type>
__device__ stored_word<Type> read_word(const stored_t<Type>* row, std::uint32_t first, std::uint32_t count,
                                       bool aligned) {
    if (aligned && first + stored_word<Type>::size <= count)
        return *reinterpret_cast<const stored_word<Type>*>(row + first);
    stored_word<Type> word;
    for (unsigned c = 0; c < stored_word<Type>::size; ++c)
        word.at[c] = first + c < count ? row[first + c] : stored_t<Type>(0);
    return word;
}

/// The type of a sum; exact for integers.
template <vector_type Type>
using value_sum = std::conditional_t<is_float(Type), double, long long>;

template <part_kind Kind>
__device__ double with_value(double sum, double a, double b) {
    if constexpr (Kind == part_kind::products) {
        return __fma_rn(a, b, sum);
    } else {
        const double difference = a - b;
        if constexpr (Kind == part_kind::squares)
            return __fma_rn(difference, difference, sum);
        else if constexpr (Kind == part_kind::greatest)
            return fmax(sum, fabs(difference));
        else
            return sum + fabs(difference);
    }
}
template <part_kind Kind>
__device__ long long with_value(long long sum, long long a, long long b) {
    return sum + a * b;
}

/// Over the lanes of a group; all of them get the result.
template <part_kind Kind, class Sum>
__device__ Sum joined_lanes(Sum sum) {
    for (unsigned half = group / 2; half != 0; half /= 2) {
        const Sum other = __shfl_xor_sync(everyone, sum, half, group);
        if constexpr (Kind == part_kind::greatest)
            sum = fmax(sum, other);
        else
            sum += other;
    }
    return sum;
}

struct compared_rows {
    device_rows rows, queries;
    std::uint32_t dimensions;
    bool aligned;
    wanted_pairs wanted;
    vector_metric metric;
};

/// The sums of four rows and a query; squares only for cosine. For f64, components may be lifted.
template <vector_type Type, part_kind Kind, bool Cosine>
struct four_sums {
    using sum_type = value_sum<Type>;
    sum_type sums[rows_at_once] = {}, squares[rows_at_once] = {}, query_square = 0;

    template <bool Lifted>
    __device__ void add_all(const compared_rows& given, const stored_t<Type>* const (&rows)[rows_at_once],
                            const stored_t<Type>* query, const double (&factors)[rows_at_once],
                            double query_factor) {
        using word = stored_word<Type>;
        const auto number = [](stored_t<Type> stored, [[maybe_unused]] double factor) {
            const auto value = static_cast<sum_type>(loaded_value<Type>(stored));
            if constexpr (Lifted)
                return value * factor;
            else
                return value;
        };
        for (std::uint32_t first = threadIdx.x % group * word::size; first < given.dimensions;
             first += group * word::size) {
            word of_rows[rows_at_once];
#pragma unroll
            for (unsigned r = 0; r < rows_at_once; ++r)
                of_rows[r] = read_word<Type>(rows[r], first, given.dimensions, given.aligned);
            const word of_query = read_word<Type>(query, first, given.dimensions, given.aligned);
#pragma unroll
            for (unsigned c = 0; c < word::size; ++c) {
                const sum_type b = number(of_query.at[c], query_factor);
                if constexpr (Cosine) query_square = with_value<part_kind::products>(query_square, b, b);
#pragma unroll
                for (unsigned r = 0; r < rows_at_once; ++r) {
                    const sum_type a = number(of_rows[r].at[c], factors[r]);
                    sums[r] = with_value<Kind>(sums[r], a, b);
                    if constexpr (Cosine) squares[r] = with_value<part_kind::products>(squares[r], a, a);
                }
            }
        }
#pragma unroll
        for (unsigned r = 0; r < rows_at_once; ++r) {
            sums[r] = joined_lanes<Kind>(sums[r]);
            if constexpr (Cosine) squares[r] = joined_lanes<part_kind::products>(squares[r]);
        }
        if constexpr (Cosine) query_square = joined_lanes<part_kind::products>(query_square);
    }
};

/// Grid: 64 rows per block in x, queries in y. Any number of rows; no shared memory.
template <vector_type Type, part_kind Kind, bool Cosine>
__global__ void __launch_bounds__(block_threads) value_rows_kernel(compared_rows given, std::uint64_t* keys) {
    const std::uint64_t first = std::uint64_t{blockIdx.x} * block_rows + threadIdx.x / group * rows_at_once;
    const std::uint64_t size = given.wanted.size;
    std::uint32_t numbers[rows_at_once];
    const stored_t<Type>* rows[rows_at_once];
#pragma unroll
    for (unsigned r = 0; r < rows_at_once; ++r) {
        numbers[r] = given.wanted.row(min(first + r, size - 1));
        rows[r] = given.rows.row<Type>(numbers[r]);
    }
    for (std::uint32_t q = blockIdx.y; q < given.wanted.queries; q += gridDim.y) {
        const stored_t<Type>* const query = given.queries.row<Type>(q);
        four_sums<Type, Kind, Cosine> found;
        double factors[rows_at_once] = {1, 1, 1, 1};
        found.template add_all<false>(given, rows, query, factors, 1);
        if constexpr (Cosine && Type == vector_type::f64) {
            const double query_factor = found.query_square < min_square ? lifting : 1;
            bool lift = query_factor != 1;
#pragma unroll
            for (unsigned r = 0; r < rows_at_once; ++r) {
                if (found.squares[r] < min_square) factors[r] = lifting;
                lift |= factors[r] != 1;
            }
            if (__any_sync(everyone, lift)) {
                found = {};
                found.template add_all<true>(given, rows, query, factors, query_factor);
            }
        }
        const unsigned lane = threadIdx.x % group;
#pragma unroll
        for (unsigned r = 0; r < rows_at_once; ++r) {
            if (lane != r || first + r >= size) continue;
            double x = 0, y = 0;
            if constexpr (Cosine) {
                x = static_cast<double>(found.squares[r]);
                y = static_cast<double>(found.query_square);
            }
            const double value = value_of_sums(given.metric, static_cast<double>(found.sums[r]), x, y,
                                               __dsqrt_rn(x), __dsqrt_rn(y));
            keys[q * size + first + r] = key_of_value(given.metric, value);
        }
    }
}

template <vector_type Type, part_kind Kind, bool Cosine>
void launch_values(cuda_place& place, const compared_rows& given, std::uint64_t* keys) {
    const dim3 grid(cuda::blocks_for(given.wanted.size, block_rows),
                    std::min(given.wanted.queries, max_queries));
    QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}), (value_rows_kernel<Type, Kind, Cosine>),
                 given, keys);
}

/// Whether rows may be read sixteen bytes at a time.
bool whole_words(const row_tile<cuda_place>& tile) {
    return (reinterpret_cast<std::uintptr_t>(tile.values.data()) | tile.stride) % 16 == 0;
}

}  // namespace

void value_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, device_span<const std::uint32_t> rows,
                device_span<std::uint64_t> keys) {
    const compared_rows given{device_view(tile),
                              device_view(queries),
                              tile.dimensions,
                              whole_words(tile) && whole_words(queries),
                              pairs_of(tile, queries, rows),
                              metric};
    if (given.wanted.size == 0 || given.wanted.queries == 0) return;
    with_type(tile.type, [&]<vector_type Type>(std::integral_constant<vector_type, Type>) {
        using enum part_kind;
        if constexpr (is_float(Type)) {
            switch (part_of(metric)) {
                case products:
                    return metric == vector_metric::cosine
                               ? launch_values<Type, products, true>(place, given, keys.data())
                               : launch_values<Type, products, false>(place, given, keys.data());
                case differences:
                    return launch_values<Type, differences, false>(place, given, keys.data());
                case greatest:
                    return launch_values<Type, greatest, false>(place, given, keys.data());
                default:
                    return launch_values<Type, squares, false>(place, given, keys.data());
            }
        } else if constexpr (Type != vector_type::bits) {
            launch_values<Type, products, true>(place, given, keys.data());  // cosine
        }
    });
}

}  // namespace quern::nearest_detail
