// SPDX-License-Identifier: Apache-2.0
// Many queries: like a matrix product, except for the arithmetic, which has three roundings per component for floats and
// can only use the plain units. The special part is the order: sixteen partial sums per pair.
// - Sixteen lanes share a tile of 8 rows × 8 queries, lane c holding partial sum c of all 64 pairs in registers; a
//   component read from shared memory serves 8 pairs.
// - Finally the lanes exchange halves of their sums: after four exchanges each has 4 pairs' whole sums, added in the order
//   of the tree.
#include <algorithm>

#include "ops/nearest/distance/distance_cuda.cuh"
#include "ops/nearest/distance/packed_words.cuh"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256, teams = block_threads / partial_sums;
constexpr unsigned team_queries = 8;  // of a team's tile
constexpr unsigned word_bytes = 16;   // one load of a thread

/// The unit of multiplication: a component; for bytes, four.
template <class Traits>
struct tile_items {
    static constexpr bool packed = sizeof(stored_t<Traits::type>) == 1;
    using item = std::conditional_t<packed, std::uint32_t, component_t<Traits::type>>;
    static constexpr unsigned of_word = word_bytes / (packed ? 4 : sizeof(stored_t<Traits::type>));

    static __device__ item at(const std::uint32_t (&word)[4], unsigned j) {
        if constexpr (packed) {
            return word[j] ^ byte_offsets<Traits::type, Traits::kind>;
        } else {
            constexpr unsigned each = items_of_word<Traits::type>;
            return item_of_word<Traits::type>(word[j / each], j % each);
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

/// The word at byte `at` of a row of `bytes` bytes; 0 past its end. A row that is not in words is read by components, all
/// at once: no load waits for another.
template <class Traits>
__device__ uint4 word_of_row(const std::byte* row, std::uint32_t at, std::uint32_t bytes, bool in_words) {
    using stored = std::make_unsigned_t<std::conditional_t<std::same_as<stored_t<Traits::type>, float>,
                                                           std::uint32_t, stored_t<Traits::type>>>;
    if (in_words) {
        const uint4 word = __ldg(reinterpret_cast<const uint4*>(row + (at < bytes ? at : 0)));
        return at < bytes ? word : uint4{0, 0, 0, 0};
    }
    std::uint32_t words[4] = {};
#pragma unroll
    for (unsigned j = 0; j < word_bytes / sizeof(stored); ++j) {
        const std::uint32_t place = at + j * sizeof(stored);
        const std::uint32_t value = __ldg(reinterpret_cast<const stored*>(row + (place < bytes ? place : 0)));
        words[j * sizeof(stored) / 4] |= (place < bytes ? value : 0) << (8 * (j * sizeof(stored) % 4));
    }
    return {words[0], words[1], words[2], words[3]};
}

template <class Item>
struct alignas(16) four_items {
    Item item[4];
};

/// Items of some vectors in shared memory: four vectors' item i are contiguous, so that teams read them together. The next
/// ones wait in registers while these are used.
template <class Traits, unsigned Vectors, unsigned Depth>
class shared_vectors {
  public:
    using items = tile_items<Traits>;
    static constexpr unsigned words = Depth / items::of_word;  ///< of a vector
    static constexpr unsigned each = (Vectors * words + block_threads - 1) / block_threads;
    using fetched = uint4[each];

    /// Neighbouring threads take one word of neighbouring vectors, so that their stores go to different banks.
    template <class Address>
    static __device__ void fetch(fetched& next, std::uint32_t begin, std::uint32_t bytes, bool in_words,
                                 const Address& address) {
#pragma unroll
        for (unsigned n = 0; n < each; ++n) {
            const unsigned k = n * block_threads + threadIdx.x;
            if (Vectors * words % block_threads == 0 || k < Vectors * words)
                next[n] = word_of_row<Traits>(address(k % Vectors), begin + k / Vectors * word_bytes, bytes,
                                              in_words);
        }
    }
    __device__ void store(const fetched& next) {
#pragma unroll
        for (unsigned n = 0; n < each; ++n) {
            const unsigned k = n * block_threads + threadIdx.x, v = k % Vectors,
                           i = k / Vectors * items::of_word;
            if (Vectors * words % block_threads != 0 && k >= Vectors * words) continue;
            const std::uint32_t word[] = {next[n].x, next[n].y, next[n].z, next[n].w};
#pragma unroll
            for (unsigned j = 0; j < items::of_word; ++j) at_[v / 4][i + j].item[v % 4] = items::at(word, j);
        }
    }
    /// Item i of the N vectors from v on.
    template <unsigned N>
    __device__ void read(unsigned v, unsigned i, typename items::item (&to)[N]) const {
#pragma unroll
        for (unsigned n = 0; n < N; n += 4) {
            const four_items<typename items::item> four = at_[(v + n) / 4][i];
#pragma unroll
            for (unsigned j = 0; j < 4; ++j) to[n + j] = four.item[j];
        }
    }

  private:
    four_items<typename items::item> at_[Vectors / 4]
                                        [Depth + 1];  // one more: groups start in different banks
};

/// Of N sums the lane keeps one half, joined with that of the lane `Half` away, and gives the other half away; then with
/// the lane at half the distance. The remaining sums belong to the pairs from N / 16 · chain on.
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

/// Teams of sixteen lanes; Next to of them have the same rows and other queries. Block: (16 / Next to) · Rows rows × 8 ·
/// Next to queries; x: queries, y: the rows in turn, Depth items at a time. Two blocks per multiprocessor: 128 registers per
/// thread.
template <class Traits, class Key, unsigned Rows, unsigned Extra, unsigned Depth>
__global__ void __launch_bounds__(block_threads, 2)
    sum_tiles_kernel(device_rows tile, device_rows queries, std::uint32_t bytes, bool in_words,
                     wanted_pairs wanted, key_maker<Key> key_of, Key* keys) {
    using sum_type = typename Traits::sum;
    using items = tile_items<Traits>;
    constexpr unsigned block_rows = teams / Extra * Rows, block_queries = Extra * team_queries;
    constexpr std::uint32_t step = Depth / items::of_word * word_bytes;  // bytes of a row at a time
    using row_memory = shared_vectors<Traits, block_rows, Depth>;
    using query_memory = shared_vectors<Traits, block_queries, Depth>;
    __shared__ row_memory rows_here;
    __shared__ query_memory queries_here;
    const unsigned chain = threadIdx.x % partial_sums, team = threadIdx.x / partial_sums;
    const unsigned team_row = team / Extra * Rows, team_query = team % Extra * team_queries;
    const std::uint32_t first_query = blockIdx.x * block_queries;

    typename row_memory::fetched next_rows;
    typename query_memory::fetched next_queries;
    std::uint64_t first = std::uint64_t{blockIdx.y} * block_rows;
    std::uint32_t begin = 0;
    const auto fetch_rows = [&] {
        row_memory::fetch(next_rows, begin, bytes, in_words, [&](unsigned v) {
            return tile.values + wanted.row(min(first + v, wanted.size - 1)) * tile.stride;
        });
    };
    const auto fetch_queries = [&] {
        query_memory::fetch(next_queries, begin, bytes, in_words, [&](unsigned v) {
            return queries.values + min(first_query + v, wanted.queries - 1) * queries.stride;
        });
    };
    const bool queries_change = bytes > step;
    fetch_rows();
    fetch_queries();
    sum_type sums[team_queries * Rows] = {};  // of query j and row r: Rows · j + r
    for (bool have_queries = false;; have_queries = true) {
        __syncthreads();
        rows_here.store(next_rows);
        if (!have_queries || queries_change) queries_here.store(next_queries);
        __syncthreads();
        const std::uint64_t these = first;
        const unsigned left = (min(step, bytes - begin) + word_bytes - 1) / word_bytes * items::of_word;
        begin += step;
        const bool whole = begin >= bytes;  // including the items summed now
        if (whole) {
            begin = 0;
            first += std::uint64_t{gridDim.y} * block_rows;
        }
        if (first < wanted.size) {
            fetch_rows();
            if (queries_change) fetch_queries();
        }
#pragma unroll 1
        for (unsigned i = chain; i - chain < left; i += partial_sums) {
            typename items::item a[Rows], b[team_queries];
            rows_here.read(team_row, i, a);
            queries_here.read(team_query, i, b);
#pragma unroll
            for (unsigned j = 0; j < team_queries; ++j)
#pragma unroll
                for (unsigned r = 0; r < Rows; ++r)
                    sums[Rows * j + r] = items::add(sums[Rows * j + r], a[r], b[j]);
        }
        if (!whole) continue;
        exchange_halves<Traits::kind, team_queries * Rows, partial_sums / 2>(sums, chain);
        constexpr unsigned mine = team_queries * Rows / partial_sums;
#pragma unroll
        for (unsigned s = 0; s < mine; ++s) {
            const unsigned pair = mine * chain + s;
            const std::uint32_t query = first_query + team_query + pair / Rows;
            const std::uint64_t i = these + team_row + pair % Rows;
            if (query < wanted.queries && i < wanted.size)
                keys[query * wanted.size + i] = key_of(sums[s], query, wanted.row(i));
        }
        if (first >= wanted.size) break;
#pragma unroll
        for (sum_type& sum : sums) sum = 0;
    }
}

template <class Traits, class Key, unsigned Extra>
void launch_tiles(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                  vector_metric metric, const wanted_pairs& wanted, Key* keys) {
    constexpr unsigned rows = sizeof(typename Traits::sum) == 8 ? 4 : 8;
    constexpr unsigned depth = (Extra == 1 ? 32 : 64) * (tile_items<Traits>::of_word / 4);
    const unsigned across = cuda::blocks_for(wanted.queries, Extra * team_queries);
    const unsigned max_down = std::min(16 * place.multiprocessors() / across + 1, 65'535u);
    const dim3 grid(across, std::min(cuda::blocks_for(wanted.size, teams / Extra * rows), max_down));
    QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}),
                 (sum_tiles_kernel<Traits, Key, rows, Extra, depth>), device_view(tile), device_view(queries),
                 static_cast<std::uint32_t>(bytes_of_row(tile.type, tile.dimensions)),
                 in_words(tile) && in_words(queries), wanted,
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

}  // namespace quern::nearest_detail
