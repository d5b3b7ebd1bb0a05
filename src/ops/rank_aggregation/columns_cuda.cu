// SPDX-License-Identifier: Apache-2.0
// Ids are in no order, so a column is written in no order. While it fits the second-level cache, each entry goes directly
// to its cell: 60 G entries a second on an H200, the limit of that cache. A longer column is written in two passes, like a
// radix sort: entries go to buckets of 64 KB of cells, gathered in shared memory so that whole sectors are written; then
// each bucket is ordered in shared memory and written through. Ids differ, so a bucket has at most as many entries as
// objects, and no counting is needed first.
#include <algorithm>

#include "ops/rank_aggregation/ranked_table.cuh"

namespace quern::rank_aggregation_detail {
namespace {

constexpr unsigned entries_a_thread = 4;
constexpr std::uint32_t straight = 1u << 21;  // objects up to which entries go directly

template <class Score, class Cell>
__device__ Cell cell_of(const device_list<Score>& list, std::uint64_t at) {
    if constexpr (std::is_same_v<Cell, Score>)
        return list.scores[at];
    else
        return static_cast<Cell>(at + 1);
}

/// Block (x, y): block_threads · entries_a_thread entries of list y.
template <class Score, class Cell>
__global__ void fill_columns_kernel(const device_list<Score>* lists, object_range range, Cell* cells,
                                    std::uint64_t stride) {
    const device_list<Score> list = lists[blockIdx.y];
    Cell* const column = cells + blockIdx.y * stride;
    const std::uint64_t begin = std::uint64_t{blockIdx.x} * (block_threads * entries_a_thread) + threadIdx.x;
#pragma unroll
    for (unsigned j = 0; j < entries_a_thread; ++j) {
        const std::uint64_t at = begin + j * block_threads;
        if (at >= list.size) continue;
        const std::uint32_t id = list.ids[at] - range.first;
        if (id < range.size) column[id] = cell_of<Score, Cell>(list, at);
    }
}

/// An entry in transfer: the object relative to the range's first.
template <class Cell>
struct moved_entry {
    Cell cell;
    std::uint32_t object;
};

template <class Cell>
inline constexpr unsigned bucket_size = (1u << 16) / sizeof(Cell);
constexpr unsigned max_buckets = 1024, scatter_threads = 512;
/// The entries of a thread: those of a block take 64 KB.
template <class Cell>
inline constexpr unsigned scattered_by_thread = sizeof(Cell) == 4 ? 16 : 8;

/// A block takes scatter_threads · Each entries of one list, those of the range, to their buckets: bucket b begins at moved[b ·
/// bucket_size] and holds counts[b] (zero before). Shared memory: the entries in the order of buckets (64 KB, or
/// half), and three numbers per bucket. Two blocks per multiprocessor.
template <class Score, class Cell, unsigned Each>
__global__ void __launch_bounds__(scatter_threads)
    scatter_entries_kernel(device_list<Score> list, object_range range, moved_entry<Cell>* moved,
                           unsigned* counts) {
    extern __shared__ std::uint64_t shared[];
    auto* const gathered = reinterpret_cast<moved_entry<Cell>*>(shared);
    __shared__ unsigned sizes[max_buckets], begins[max_buckets], bases[max_buckets],
        of_warps[scatter_threads / 32];
    constexpr unsigned mine = Each;
    const unsigned t = threadIdx.x;
    for (unsigned b = t; b < max_buckets; b += scatter_threads) sizes[b] = 0;
    __syncthreads();
    const std::uint64_t begin = std::uint64_t{blockIdx.x} * (scatter_threads * Each) + t;
    moved_entry<Cell> entries[mine];
    unsigned places[mine];
#pragma unroll
    for (unsigned j = 0; j < mine; ++j) {
        const std::uint64_t at = begin + j * scatter_threads;
        entries[j].object = at < list.size ? list.ids[at] - range.first : range.size;
        if (entries[j].object < range.size) entries[j].cell = cell_of<Score, Cell>(list, at);
    }
#pragma unroll
    for (unsigned j = 0; j < mine; ++j)
        if (entries[j].object < range.size)
            places[j] = atomicAdd(&sizes[entries[j].object / bucket_size<Cell>], 1u);
    __syncthreads();
    // begins: the exclusive sums of sizes, two per thread.
    static_assert(max_buckets == 2 * scatter_threads);
    const unsigned first = sizes[2 * t], pair = first + sizes[2 * t + 1];
    unsigned sum = pair;
    for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned before = __shfl_up_sync(0xffffffffu, sum, step);
        if (t % 32 >= step) sum += before;
    }
    if (t % 32 == 31) of_warps[t / 32] = sum;
    __syncthreads();
    for (unsigned w = 0; w < t / 32; ++w) sum += of_warps[w];
    begins[2 * t] = sum - pair;
    begins[2 * t + 1] = sum - pair + first;
    for (unsigned b = t; b < max_buckets; b += scatter_threads)
        if (sizes[b] != 0) bases[b] = atomicAdd(counts + b, sizes[b]);
    __syncthreads();
#pragma unroll
    for (unsigned j = 0; j < mine; ++j)
        if (entries[j].object < range.size)
            gathered[begins[entries[j].object / bucket_size<Cell>] + places[j]] = entries[j];
    __syncthreads();
    const unsigned all = begins[max_buckets - 1] + sizes[max_buckets - 1];
    for (unsigned j = t; j < all; j += scatter_threads) {
        const moved_entry<Cell> entry = gathered[j];
        const unsigned bucket = entry.object / bucket_size<Cell>;
        moved[std::uint64_t{bucket} * bucket_size<Cell> + bases[bucket] + (j - begins[bucket])] = entry;
    }
}

/// One block per bucket: its entries to their cells. Shared memory: the cells (64 KB).
template <class Cell>
__global__ void __launch_bounds__(scatter_threads)
    order_bucket_kernel(const moved_entry<Cell>* moved, const unsigned* counts, object_range range,
                        Cell* column) {
    extern __shared__ std::uint64_t shared[];
    Cell* const cells = reinterpret_cast<Cell*>(shared);
    const unsigned t = threadIdx.x, begin = blockIdx.x * bucket_size<Cell>;
    const unsigned size = min(bucket_size<Cell>, range.size - begin);
    for (unsigned j = t; j < bucket_size<Cell> * sizeof(Cell) / 8; j += scatter_threads)
        shared[j] = ~std::uint64_t{0};
    __syncthreads();
    const unsigned count = counts[blockIdx.x];
#pragma unroll 4
    for (unsigned j = t; j < count; j += scatter_threads) {
        const moved_entry<Cell> entry = moved[begin + j];
        cells[entry.object - begin] = entry.cell;
    }
    __syncthreads();
    for (unsigned j = t; j < size; j += scatter_threads) column[begin + j] = cells[j];
}

template <unsigned Each, class Score, class Cell>
void fill_by_buckets(device_lists<Score>& lists, object_range range, Cell* cells, std::uint64_t stride) {
    cuda_place& place = lists.place();
    const auto scatter = scatter_entries_kernel<Score, Cell, Each>;
    constexpr unsigned of_block = scatter_threads * Each;
    constexpr std::size_t scatter_shared = of_block * sizeof(moved_entry<Cell>);
    if constexpr (Each == scattered_by_thread<Cell>)
        if (cuda::shared_room(place, scatter) < scatter_shared)
            return fill_by_buckets<Each / 2>(lists, range, cells, stride);

    const auto order = order_bucket_kernel<Cell>;
    const cuda_array<moved_entry<Cell>> moved(place, range.size, "entries on their way to columns");
    const unsigned buckets = cuda::blocks_for(range.size, bucket_size<Cell>);
    const cuda_array<unsigned> counts(place, max_buckets, "the sizes of buckets");
    constexpr std::size_t order_shared = bucket_size<Cell> * sizeof(Cell);
    place.make_current();
    QUERN_CHECK(cudaFuncSetAttribute(scatter, cudaFuncAttributeMaxDynamicSharedMemorySize, scatter_shared));
    QUERN_CHECK(cudaFuncSetAttribute(order, cudaFuncAttributeMaxDynamicSharedMemorySize, order_shared));
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const device_list<Score>& list = lists.lists()[i];
        place.fill_bytes(counts.data(), 0, counts.span().size_bytes());
        QUERN_LAUNCH(
            place,
            (cuda::launch_shape{cuda::blocks_for(list.size, of_block), scatter_threads, scatter_shared}),
            scatter, list, range, moved.data(), counts.data());
        QUERN_LAUNCH(place, (cuda::launch_shape{buckets, scatter_threads, order_shared}), order, moved.data(),
                     counts.data(), range, cells + i * stride);
    }
}

}  // namespace

template <class Score, class Cell>
void fill_columns(device_lists<Score>& lists, object_range range, Cell* cells, std::uint64_t stride) {
    static_assert(max_columns<Cell> == max_buckets * bucket_size<Cell>);
    static_assert(extra_bytes<Cell> == sizeof(moved_entry<Cell>));
    if (range.size > straight) return fill_by_buckets<scattered_by_thread<Cell>>(lists, range, cells, stride);
    cuda_place& place = lists.place();
    for (std::size_t i = 0; i < lists.size(); ++i)
        place.fill_bytes(cells + i * stride, 0xff, range.size * sizeof(Cell));
    const dim3 grid(cuda::blocks_for(lists.longest(), block_threads * entries_a_thread),
                    static_cast<unsigned>(lists.size()));
    QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}), (fill_columns_kernel<Score, Cell>),
                 lists.table(), range, cells, stride);
}
template void fill_columns(device_lists<float>&, object_range, float*, std::uint64_t);
template void fill_columns(device_lists<float>&, object_range, std::uint32_t*, std::uint64_t);
template void fill_columns(device_lists<double>&, object_range, double*, std::uint64_t);
template void fill_columns(device_lists<double>&, object_range, std::uint32_t*, std::uint64_t);

}  // namespace quern::rank_aggregation_detail
