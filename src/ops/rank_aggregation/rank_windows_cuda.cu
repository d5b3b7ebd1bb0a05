// SPDX-License-Identifier: Apache-2.0
// Ids come in no order, so windows are written in no order: in two passes, like columns of scores (columns_cuda.cu), but with
// four bytes an entry on its way instead of eight, and two in its column instead of four. Ids are read, scores are not.
//
// Pass 1: entries go to buckets of objects. A block gathers a tile in shared memory, so that what it has for a bucket is written
// at once, and reads the next tile meanwhile. Pass 2: a block orders a bucket in shared memory and writes it through.
// Ids differ, so a bucket has at most as many entries as objects, and no counting is needed first.
#include <algorithm>
#include <cstddef>

#include "ops/rank_aggregation/rank_windows.cuh"

namespace quern::rank_aggregation_detail {
namespace {

/// An entry on its way: the object in its bucket, and above it the window.
using moved_rank = std::uint32_t;

/// Buckets of `bucket` objects; tiles of threads · each entries.
template <unsigned Buckets, unsigned Bucket, unsigned Threads, unsigned Each, unsigned Order>
struct window_shape {
    static constexpr unsigned buckets = Buckets, bucket = Bucket, threads = Threads, each = Each,
                              order_threads = Order, tile = Threads * Each,
                              tile_bytes = tile * sizeof(moved_rank), bucket_bytes = 2 * Bucket;
    static_assert(bucket <= 1u << 16 && bucket % 64 == 0 && buckets % threads == 0);
    static_assert(tile < 1u << 16);
};
using wide_windows = window_shape<2048, 65536, 1024, 40, 1024>;
using narrow_windows = window_shape<1024, 16384, 512, 16, 512>;  // where a block has less shared memory

/// Where the entries of a bucket are in the tile, and where they go.
struct bucket_run {
    std::uint16_t begin, size;
    std::uint32_t to;  ///< in the bucket
};

/// The exclusive sums of all threads' numbers. Called by all threads of a block; `of_warps` has a number per warp.
template <unsigned Threads>
__device__ unsigned sum_before(unsigned mine, unsigned* of_warps) {
    const unsigned t = threadIdx.x;
    unsigned sum = mine;
    for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned before = __shfl_up_sync(0xffffffffu, sum, step);
        if (t % 32 >= step) sum += before;
    }
    if (t % 32 == 31) of_warps[t / 32] = sum;
    __syncthreads();
    for (unsigned w = 0; w < t / 32; ++w) sum += of_warps[w];
    return sum - mine;
}

/// Blocks take tiles of the list in turn. Bucket b begins at moved[b · bucket] and holds counts[b] entries (zero before), those
/// of objects in the range. Dynamic shared memory: the tile in the order of buckets.
template <class Shape>
__global__ void __launch_bounds__(Shape::threads)
    scatter_ranks_kernel(const std::uint32_t* ids, std::uint64_t size, object_range range, moved_rank* moved,
                         unsigned* counts) {
    constexpr unsigned threads = Shape::threads, each = Shape::each, buckets = Shape::buckets,
                       bucket = Shape::bucket, own = buckets / threads;
    constexpr unsigned lanes = 16;  // that write what a tile has for a bucket
    extern __shared__ moved_rank gathered[];
    __shared__ unsigned next[buckets], of_warps[threads / 32];  // next: sizes, then positions
    __shared__ bucket_run runs[buckets];
    const unsigned t = threadIdx.x;
    std::uint32_t objects[each];
    const auto read = [&](std::uint64_t begin) {
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const std::uint64_t at = begin + j * threads + t;
            objects[j] = at < size ? ids[at] - range.first : range.size;
        }
    };
    std::uint64_t begin = std::uint64_t{blockIdx.x} * Shape::tile;
    read(begin);
    while (begin < size) {
        for (unsigned b = t; b < buckets; b += threads) next[b] = 0;
        __syncthreads();
#pragma unroll
        for (unsigned j = 0; j < each; ++j)
            if (objects[j] < range.size) atomicAdd(&next[objects[j] / bucket], 1u);
        __syncthreads();
        unsigned mine[own], to[own], all = 0;
#pragma unroll
        for (unsigned j = 0; j < own; ++j) all += mine[j] = next[t * own + j];
#pragma unroll
        for (unsigned j = 0; j < own; ++j)
            to[j] = mine[j] != 0 ? atomicAdd(counts + t * own + j, mine[j]) : 0;
        unsigned sum = sum_before<threads>(all, of_warps);
#pragma unroll
        for (unsigned j = 0; j < own; ++j) {
            runs[t * own + j] = {static_cast<std::uint16_t>(sum), static_cast<std::uint16_t>(mine[j]), to[j]};
            next[t * own + j] = sum;
            sum += mine[j];
        }
        __syncthreads();
        // Counted again rather than kept from the first time: registers then hold a longer tile.
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            if (objects[j] >= range.size) continue;
            const unsigned of = objects[j] / bucket;
            const auto at = static_cast<std::uint32_t>(begin + j * threads + t);
            gathered[atomicAdd(&next[of], 1u)] = (objects[j] - of * bucket) | window_of(at) << 16;
        }
        __syncthreads();
        begin += std::uint64_t{gridDim.x} * Shape::tile;
        read(begin);  // in flight while this tile is written
#pragma unroll 4
        for (unsigned b = t / lanes; b < buckets; b += threads / lanes) {
            const bucket_run run = runs[b];
            for (unsigned j = t % lanes; j < run.size; j += lanes)
                moved[std::uint64_t{b} * bucket + run.to + j] = gathered[run.begin + j];
        }
    }
}

/// A block a bucket: its entries to their cells. Dynamic shared memory: the cells.
template <class Shape>
__global__ void __launch_bounds__(Shape::order_threads)
    order_ranks_kernel(const moved_rank* moved, const unsigned* counts, object_range range,
                       std::uint16_t* column) {
    constexpr unsigned threads = Shape::order_threads, bucket = Shape::bucket;
    extern __shared__ uint4 shared_words[];
    auto* const cells = reinterpret_cast<std::uint16_t*>(shared_words);
    const unsigned t = threadIdx.x, begin = blockIdx.x * bucket;
    const unsigned size = min(bucket, range.size - begin), count = counts[blockIdx.x];
    const unsigned words = (size + 7) / 8;  // the last one may reach into the padding of the column
    if (count < 8 * words) {
        for (unsigned w = t; w < words; w += threads) shared_words[w] = {~0u, ~0u, ~0u, ~0u};
        __syncthreads();
    }
    const auto put = [&](moved_rank entry) {
        cells[entry & 0xffff] = static_cast<std::uint16_t>(entry >> 16);
    };
    const auto* const in_words = reinterpret_cast<const uint4*>(moved + begin);
    const auto put_word = [&](const uint4& word) {
        put(word.x);
        put(word.y);
        put(word.z);
        put(word.w);
    };
    constexpr unsigned at_once = 4;  // words in flight
    unsigned j = t;
    for (; j + (at_once - 1) * threads < count / 4; j += at_once * threads) {
        uint4 some[at_once];
#pragma unroll
        for (unsigned q = 0; q < at_once; ++q) some[q] = __ldcs(in_words + j + q * threads);
#pragma unroll
        for (const uint4& word : some) put_word(word);
    }
    for (; j < count / 4; j += threads) put_word(__ldcs(in_words + j));
    if (t < count % 4) put(moved[begin + count / 4 * 4 + t]);
    __syncthreads();
    for (unsigned w = t; w < words; w += threads)
        __stcs(reinterpret_cast<uint4*>(column + begin) + w, shared_words[w]);
}

template <class Shape>
bool fits(cuda_place& place) {
    return cuda::shared_room(place, scatter_ranks_kernel<Shape>) >= Shape::tile_bytes &&
           cuda::shared_room(place, order_ranks_kernel<Shape>) >= Shape::bucket_bytes;
}

/// Ranges of as many objects as the buckets hold, one after the other; each reads all ids.
template <class Shape, class Score>
void fill(device_lists<Score>& lists, std::uint16_t* cells) {
    cuda_place& place = lists.place();
    constexpr std::uint32_t most = Shape::buckets * Shape::bucket;  // 2^27 or 2^24
    const auto scatter = scatter_ranks_kernel<Shape>;
    const auto order = order_ranks_kernel<Shape>;
    place.make_current();
    QUERN_CHECK(
        cudaFuncSetAttribute(scatter, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::tile_bytes));
    QUERN_CHECK(
        cudaFuncSetAttribute(order, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::bucket_bytes));
    int blocks = 0;
    QUERN_CHECK(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scatter, Shape::threads, Shape::tile_bytes));
    const unsigned at_once = std::max(1, blocks) * place.multiprocessors();
    const std::uint32_t objects = lists.objects();
    const cuda_array<moved_rank> moved(place, std::min(objects, most), "entries on their way to columns");
    const cuda_array<unsigned> counts(place, Shape::buckets, "the sizes of buckets");
    for (std::uint64_t first = 0; first < objects; first += most) {
        const object_range range{static_cast<std::uint32_t>(first),
                                 static_cast<std::uint32_t>(std::min<std::uint64_t>(most, objects - first))};
        for (std::size_t i = 0; i < lists.size(); ++i) {
            const device_list<Score>& list = lists.lists()[i];
            place.fill_bytes(counts.data(), 0, counts.span().size_bytes());
            QUERN_LAUNCH(place,
                         (cuda::launch_shape{std::min(at_once, cuda::blocks_for(list.size, Shape::tile)),
                                             Shape::threads, Shape::tile_bytes}),
                         scatter, list.ids, list.size, range, moved.data(), counts.data());
            QUERN_LAUNCH(place,
                         (cuda::launch_shape{cuda::blocks_for(range.size, Shape::bucket),
                                             Shape::order_threads, Shape::bucket_bytes}),
                         order, moved.data(), counts.data(), range,
                         cells + i * window_stride(objects) + first);
        }
    }
}

}  // namespace

std::uint64_t extra_bytes_of_windows(std::uint32_t objects) {
    return sizeof(moved_rank) * std::uint64_t{objects} + sizeof(unsigned) * wide_windows::buckets;
}

template <class Score>
void fill_windows(device_lists<Score>& lists, std::uint16_t* cells) {
    if (fits<wide_windows>(lists.place()))
        fill<wide_windows>(lists, cells);
    else
        fill<narrow_windows>(lists, cells);
}
template void fill_windows(device_lists<float>&, std::uint16_t*);
template void fill_windows(device_lists<double>&, std::uint16_t*);

}  // namespace quern::rank_aggregation_detail
