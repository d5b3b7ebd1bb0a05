// SPDX-License-Identifier: Apache-2.0
// Many queries: a product of matrices in all but the arithmetic, which is three roundings a component for floats and
// leaves no unit but the plain ones. What is special is the order: sixteen partial sums a pair. So sixteen lanes share a
// tile of 8 rows × 8 queries, lane c holding partial sum c of all 64 pairs in registers; a component read from shared
// memory serves 8 pairs. In the end the lanes exchange halves of what they hold: after four exchanges each has 4 pairs'
// whole sums, added in the order of the tree.
#include <algorithm>

#include "ops/ranked_retrieval/tiles_cuda.cuh"
#include "ops/ranked_retrieval/words.cuh"

namespace quern::ranked_retrieval_detail {
namespace {

constexpr unsigned block_threads = 256, teams = block_threads / partial_sums;
constexpr unsigned depth = 64;        // items of a row in shared memory at a time
constexpr unsigned team_queries = 8;  // queries of a team's tile

/// What is multiplied at once: a component; of bytes, four.
template <class Traits>
struct tile_items {
    static constexpr bool packed = sizeof(stored_t<Traits::type>) == 1;
    using item = std::conditional_t<packed, std::uint32_t, component_t<Traits::type>>;

    /// Item i of a row of `count` components; beyond its end 0, which adds nothing.
    static __device__ item load(const std::byte* row, std::uint32_t i, std::uint32_t count, bool aligned) {
        if constexpr (packed) {
            if (aligned && 4 * i + 4 <= count) return reinterpret_cast<const std::uint32_t*>(row)[i];
            std::uint32_t word = 0;
            for (std::uint32_t j = 4 * i; j < min(4 * i + 4, count); ++j)
                word |= static_cast<std::uint32_t>(row[j]) << (8 * (j % 4));
            return word;
        } else {
            return i < count ? loaded_value<Traits::type>(row_at<Traits::type>(row, 0, 0)[i]) : item(0);
        }
    }
    template <class Sum>
    static __device__ Sum add(Sum sum, item a, item b) {
        if constexpr (packed)
            return with_word<Traits::type, Traits::kind>(sum, a, b);
        else
            return with_part<Traits::kind>(sum, a, b);
    }
};

template <class Item>
struct alignas(16) four_items {
    Item item[4];
};

/// Vectors `first` … of a block in shared memory: four vectors' item i side by side, so that teams read them together.
template <class Traits, unsigned Vectors>
struct shared_vectors {
    using items = tile_items<Traits>;
    four_items<typename items::item> at[Vectors / 4][depth];

    /// Loads items [begin, begin + depth) of vectors; address(v) is null where there is none.
    template <class Address>
    __device__ void load(std::uint32_t begin, std::uint32_t count, bool aligned, const Address& address) {
        static_assert(Vectors * depth % block_threads == 0);
#pragma unroll 8
        for (unsigned n = 0; n < Vectors * depth / block_threads; ++n) {
            const unsigned k = n * block_threads + threadIdx.x, i = k / 4 % depth,
                           v = k / 4 / depth * 4 + k % 4;
            const std::byte* const row = address(v);
            at[v / 4][i].item[v % 4] = row != nullptr ? items::load(row, begin + i, count, aligned) : 0;
        }
    }
};

/// Of N sums the lane keeps one half, joined with what the lane `Half` away has of it, and gives away the other; then with
/// the lane at half the distance. What is left belongs to the pairs from N / 16 · chain on.
template <part_kind Kind, unsigned N, unsigned Half, pair_sum Sum>
__device__ void exchange_halves(Sum* sums, unsigned chain) {
    if constexpr (Half != 0) {
        const bool upper = (chain & Half) != 0;
#pragma unroll
        for (unsigned s = 0; s < N / 2; ++s) {
            const Sum sent = upper ? sums[s] : sums[s + N / 2], kept = upper ? sums[s + N / 2] : sums[s];
            sums[s] = joined<Kind>(kept, __shfl_xor_sync(0xffffffffu, sent, Half));
        }
        exchange_halves<Kind, N / 2, Half / 2>(sums, chain);
    }
}

/// Teams of sixteen lanes; Beside of them have the same rows and other queries. Block: (16 / Beside) · Rows rows ×
/// 8 · Beside queries; x: queries, y: the rows in turn. Two blocks a multiprocessor: 128 registers a thread.
template <class Traits, class Key, unsigned Rows, unsigned Beside>
__global__ void __launch_bounds__(block_threads, 2)
    sum_tiles_kernel(rows_there tile, rows_there queries, std::uint32_t count, bool aligned,
                     wanted_pairs wanted, key_maker<Key> key_of, Key* keys) {
    using sum_type = typename Traits::sum;
    using items = tile_items<Traits>;
    constexpr unsigned block_rows = teams / Beside * Rows, block_queries = Beside * team_queries;
    __shared__ shared_vectors<Traits, block_rows> rows_here;
    __shared__ shared_vectors<Traits, block_queries> queries_here;
    const unsigned chain = threadIdx.x % partial_sums, team = threadIdx.x / partial_sums;
    const unsigned team_row = team / Beside * Rows, team_query = team % Beside * team_queries;
    const std::uint32_t item_count = items::packed ? (count + 3) / 4 : count;
    const std::uint32_t first_query = blockIdx.x * block_queries;
    const auto query_at = [&](unsigned v) {
        return first_query + v < wanted.queries ? queries.values + (first_query + v) * queries.stride
                                                : nullptr;
    };

    bool have_queries = false;
    for (std::uint64_t first = std::uint64_t{blockIdx.y} * block_rows; first < wanted.size;
         first += std::uint64_t{gridDim.y} * block_rows) {
        const auto row_of_tile = [&](unsigned v) {
            return first + v < wanted.size ? tile.values + wanted(0, first + v).row * tile.stride : nullptr;
        };
        sum_type sums[team_queries * Rows] = {};  // of query j and row r: Rows · j + r
        for (std::uint32_t begin = 0; begin < item_count; begin += depth) {
            __syncthreads();
            rows_here.load(begin, count, aligned, row_of_tile);
            if (!have_queries || item_count > depth) queries_here.load(begin, count, aligned, query_at);
            have_queries = true;
            __syncthreads();
            const std::uint32_t end = min(depth, item_count - begin);
#pragma unroll 1
            for (std::uint32_t i = chain; i - chain < end; i += partial_sums) {
                typename items::item a[Rows], b[team_queries];
#pragma unroll
                for (unsigned v = 0; v < Rows; v += 4)
                    *reinterpret_cast<four_items<typename items::item>*>(a + v) =
                        rows_here.at[(team_row + v) / 4][i];
#pragma unroll
                for (unsigned v = 0; v < team_queries; v += 4)
                    *reinterpret_cast<four_items<typename items::item>*>(b + v) =
                        queries_here.at[(team_query + v) / 4][i];
#pragma unroll
                for (unsigned j = 0; j < team_queries; ++j)
#pragma unroll
                    for (unsigned r = 0; r < Rows; ++r)
                        sums[Rows * j + r] = items::add(sums[Rows * j + r], a[r], b[j]);
            }
        }
        exchange_halves<Traits::kind, team_queries * Rows, partial_sums / 2>(sums, chain);
        constexpr unsigned left = team_queries * Rows / partial_sums;
#pragma unroll
        for (unsigned s = 0; s < left; ++s) {
            const unsigned pair = left * chain + s;
            const std::uint32_t query = first_query + team_query + pair / Rows;
            const std::uint64_t i = first + team_row + pair % Rows;
            if (query < wanted.queries && i < wanted.size)
                keys[query * wanted.size + i] = key_of(sums[s], query, wanted(0, i).row);
        }
    }
}

template <class Traits, class Key, unsigned Beside>
void launch_tiles(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                  vector_metric metric, const wanted_pairs& wanted, Key* keys) {
    constexpr unsigned rows = sizeof(typename Traits::sum) == 8 ? 4 : 8;
    const auto begins_aligned = [](const row_tile<cuda_place>& of) {
        return reinterpret_cast<std::uintptr_t>(of.values.data()) % 4 == 0 && of.stride % 4 == 0;
    };
    const unsigned across = cuda::blocks_for(wanted.queries, Beside * team_queries);
    const unsigned wanted_blocks = 16 * place.multiprocessors() / across + 1;
    const dim3 grid(across, std::min(cuda::blocks_for(wanted.size, teams / Beside * rows), wanted_blocks));
    QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}),
                 (sum_tiles_kernel<Traits, Key, rows, Beside>), there(tile), there(queries),
                 summed_items(tile, metric), begins_aligned(tile) && begins_aligned(queries), wanted,
                 (key_maker<Key>{metric, tile.squares.data(), queries.squares.data()}), keys);
}

}  // namespace

template <class Key>
bool tile_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
               vector_metric metric, const wanted_pairs& wanted, Key* keys) {
    if (wanted.size == 0 || wanted.queries == 0) return true;
    return with_common_traits<Key>(tile.type, metric, tile.dimensions, [&]<class Traits>(Traits) {
        if (wanted.queries <= team_queries)
            launch_tiles<Traits, Key, 1>(place, tile, queries, metric, wanted, keys);
        else
            launch_tiles<Traits, Key, 4>(place, tile, queries, metric, wanted, keys);
    });
}
template bool tile_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                        const wanted_pairs&, std::uint32_t*);
template bool tile_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                        const wanted_pairs&, std::uint64_t*);

}  // namespace quern::ranked_retrieval_detail
