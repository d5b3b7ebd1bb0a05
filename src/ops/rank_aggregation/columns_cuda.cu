// SPDX-License-Identifier: Apache-2.0
// Ids are in no order, so a column is written in no order. While it fits the second-level cache, each entry goes directly
// to its cell: 60 G entries a second on an H200, the limit of that cache. A longer column is written in two passes, like a
// radix sort: entries go to buckets of cells, gathered in shared memory so that whole sectors are written; then each bucket
// is ordered in shared memory and written through. Ids differ, so a bucket has at most as many entries as objects, and no
// counting is needed first. Buckets of 64 KB serve every device; for more objects than 1,024 of them have cells, buckets of
// 192 KB, where a block has that much shared memory: otherwise the lists are read again for each range of objects.
#include <algorithm>
#include <bit>

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

/// How lists are scattered: buckets of bucket_bytes of cells, by blocks that gather block_bytes of entries.
template <unsigned Buckets, unsigned BucketBytes, unsigned Threads, unsigned BlockBytes>
struct scatter_shape {
    static constexpr unsigned buckets = Buckets, bucket_bytes = BucketBytes, threads = Threads,
                              block_bytes = BlockBytes;
    /// The cells of a bucket.
    template <class Cell>
    static constexpr unsigned bucket_size = BucketBytes / sizeof(Cell);
    /// The entries of a thread.
    template <class Cell>
    static constexpr unsigned each = BlockBytes / Threads / sizeof(moved_entry<Cell>);
    /// The objects whose columns are written at once.
    template <class Cell>
    static constexpr std::uint32_t objects = Buckets * bucket_size<Cell>;
};
using narrow_scatter = scatter_shape<1024, 64u << 10, 512, 64u << 10>;  // two blocks on a multiprocessor
using small_scatter = scatter_shape<1024, 64u << 10, 512, 32u << 10>;  // where a block has less shared memory
using wide_scatter = scatter_shape<2048, 192u << 10, 1024, 128u << 10>;

/// A block takes its entries of one list, those of the range, to their buckets: bucket b begins at moved[b · bucket_size] and
/// holds counts[b] (zero before). Shared memory: the entries in the order of buckets (block_bytes), and three numbers per
/// bucket.
template <class Shape, class Score, class Cell>
__global__ void __launch_bounds__(Shape::threads)
    scatter_entries_kernel(device_list<Score> list, object_range range, moved_entry<Cell>* moved,
                           unsigned* counts) {
    extern __shared__ std::uint64_t shared[];
    auto* const gathered = reinterpret_cast<moved_entry<Cell>*>(shared);
    constexpr unsigned threads = Shape::threads, buckets = Shape::buckets, mine = Shape::template each<Cell>,
                       bucket_size = Shape::template bucket_size<Cell>;
    __shared__ unsigned sizes[buckets], begins[buckets], bases[buckets], of_warps[threads / 32];
    const unsigned t = threadIdx.x;
    for (unsigned b = t; b < buckets; b += threads) sizes[b] = 0;
    __syncthreads();
    const std::uint64_t begin = std::uint64_t{blockIdx.x} * (threads * mine) + t;
    moved_entry<Cell> entries[mine];
    unsigned places[mine];
#pragma unroll
    for (unsigned j = 0; j < mine; ++j) {
        const std::uint64_t at = begin + j * threads;
        entries[j].object = at < list.size ? list.ids[at] - range.first : range.size;
        if (entries[j].object < range.size) entries[j].cell = cell_of<Score, Cell>(list, at);
    }
#pragma unroll
    for (unsigned j = 0; j < mine; ++j)
        if (entries[j].object < range.size)
            places[j] = atomicAdd(&sizes[entries[j].object / bucket_size], 1u);
    __syncthreads();
    // begins: the exclusive sums of sizes, two per thread.
    static_assert(buckets == 2 * threads);
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
    for (unsigned b = t; b < buckets; b += threads)
        if (sizes[b] != 0) bases[b] = atomicAdd(counts + b, sizes[b]);
    __syncthreads();
#pragma unroll
    for (unsigned j = 0; j < mine; ++j)
        if (entries[j].object < range.size)
            gathered[begins[entries[j].object / bucket_size] + places[j]] = entries[j];
    __syncthreads();
    const unsigned all = begins[buckets - 1] + sizes[buckets - 1];
    for (unsigned j = t; j < all; j += threads) {
        const moved_entry<Cell> entry = gathered[j];
        const unsigned bucket = entry.object / bucket_size;
        moved[std::uint64_t{bucket} * bucket_size + bases[bucket] + (j - begins[bucket])] = entry;
    }
}

/// Sixteen bytes of entries in transfer.
template <class Cell>
struct alignas(16) entry_word {
    static constexpr unsigned size = 16 / sizeof(moved_entry<Cell>);
    moved_entry<Cell> entries[size];
};

/// One block per bucket: its entries to their cells, both in words of sixteen bytes. Shared memory: the cells (BucketBytes).
template <unsigned BucketBytes, unsigned Threads, class Cell>
__global__ void __launch_bounds__(Threads)
    order_bucket_kernel(const moved_entry<Cell>* moved, const unsigned* counts, object_range range,
                        Cell* column) {
    extern __shared__ uint4 shared_words[];
    Cell* const cells = reinterpret_cast<Cell*>(shared_words);
    constexpr unsigned bucket_size = BucketBytes / sizeof(Cell);
    const unsigned t = threadIdx.x, begin = blockIdx.x * bucket_size;
    const unsigned size = min(bucket_size, range.size - begin), count = counts[blockIdx.x];
    if (count < size) {
        for (unsigned j = t; j < BucketBytes / 16; j += Threads) shared_words[j] = {~0u, ~0u, ~0u, ~0u};
        __syncthreads();
    }
    using entries = entry_word<Cell>;
    const unsigned whole = count / entries::size;
    const auto put = [&](const moved_entry<Cell>& entry) { cells[entry.object - begin] = entry.cell; };
#pragma unroll 8
    for (unsigned j = t; j < whole; j += Threads) {
        const uint4 word = __ldcs(reinterpret_cast<const uint4*>(moved + begin) + j);
        const auto here = std::bit_cast<entries>(word);
        for (const moved_entry<Cell>& entry : here.entries) put(entry);
    }
    if (t < count % entries::size) put(moved[begin + whole * entries::size + t]);
    __syncthreads();
    constexpr unsigned of_word = 16 / sizeof(Cell);
    const bool in_words = reinterpret_cast<std::uintptr_t>(column + begin) % 16 == 0;
    const unsigned words = in_words ? size / of_word : 0;
    for (unsigned j = t; j < words; j += Threads)
        __stcs(reinterpret_cast<uint4*>(column + begin) + j, shared_words[j]);
    for (unsigned j = words * of_word + t; j < size; j += Threads) column[begin + j] = cells[j];
}

/// Whether the blocks of a shape have the shared memory that they need.
template <class Shape, class Score, class Cell>
bool fits(cuda_place& place) {
    return cuda::shared_room(place, scatter_entries_kernel<Shape, Score, Cell>) >= Shape::block_bytes &&
           cuda::shared_room(place, order_bucket_kernel<Shape::bucket_bytes, Shape::threads, Cell>) >=
               Shape::bucket_bytes;
}

/// A range of at most Shape::objects.
template <class Shape, class Score, class Cell>
void fill_by_buckets(device_lists<Score>& lists, object_range range, Cell* cells, std::uint64_t stride) {
    cuda_place& place = lists.place();
    const auto scatter = scatter_entries_kernel<Shape, Score, Cell>;
    const auto order = order_bucket_kernel<Shape::bucket_bytes, Shape::threads, Cell>;
    const cuda_array<moved_entry<Cell>> moved(place, range.size, "entries on their way to columns");
    const cuda_array<unsigned> counts(place, Shape::buckets, "the sizes of buckets");
    const unsigned buckets = cuda::blocks_for(range.size, Shape::template bucket_size<Cell>);
    constexpr unsigned of_block = Shape::threads * Shape::template each<Cell>;
    place.make_current();
    QUERN_CHECK(
        cudaFuncSetAttribute(scatter, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::block_bytes));
    QUERN_CHECK(
        cudaFuncSetAttribute(order, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::bucket_bytes));
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const device_list<Score>& list = lists.lists()[i];
        place.fill_bytes(counts.data(), 0, counts.span().size_bytes());
        QUERN_LAUNCH(
            place,
            (cuda::launch_shape{cuda::blocks_for(list.size, of_block), Shape::threads, Shape::block_bytes}),
            scatter, list, range, moved.data(), counts.data());
        QUERN_LAUNCH(place, (cuda::launch_shape{buckets, Shape::threads, Shape::bucket_bytes}), order,
                     moved.data(), counts.data(), range, cells + i * stride);
    }
}

template <class Score, class Cell>
void fill_directly(device_lists<Score>& lists, object_range range, Cell* cells, std::uint64_t stride) {
    cuda_place& place = lists.place();
    for (std::size_t i = 0; i < lists.size(); ++i)
        place.fill_bytes(cells + i * stride, 0xff, range.size * sizeof(Cell));
    const dim3 grid(cuda::blocks_for(lists.longest(), block_threads * entries_a_thread),
                    static_cast<unsigned>(lists.size()));
    QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}), (fill_columns_kernel<Score, Cell>),
                 lists.table(), range, cells, stride);
}

/// Ranges of as many objects as the shape takes, one after the other.
template <class Shape, class Score, class Cell>
void fill_in_ranges(device_lists<Score>& lists, object_range range, Cell* cells, std::uint64_t stride) {
    constexpr std::uint32_t most = Shape::template objects<Cell>;
    for (std::uint64_t first = 0; first < range.size; first += most) {
        const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, range.size - first));
        fill_by_buckets<Shape>(lists, {range.first + static_cast<std::uint32_t>(first), size}, cells + first,
                               stride);
    }
}

}  // namespace

template <class Score, class Cell>
void fill_columns(device_lists<Score>& lists, object_range range, Cell* cells, std::uint64_t stride) {
    static_assert(extra_bytes<Cell> == sizeof(moved_entry<Cell>));
    cuda_place& place = lists.place();
    if (range.size <= straight)
        fill_directly(lists, range, cells, stride);
    else if (range.size > narrow_scatter::objects<Cell> && fits<wide_scatter, Score, Cell>(place))
        fill_in_ranges<wide_scatter>(lists, range, cells, stride);
    else if (fits<narrow_scatter, Score, Cell>(place))
        fill_in_ranges<narrow_scatter>(lists, range, cells, stride);
    else
        fill_in_ranges<small_scatter>(lists, range, cells, stride);
}
template void fill_columns(device_lists<float>&, object_range, float*, std::uint64_t);
template void fill_columns(device_lists<float>&, object_range, std::uint32_t*, std::uint64_t);
template void fill_columns(device_lists<double>&, object_range, double*, std::uint64_t);
template void fill_columns(device_lists<double>&, object_range, std::uint32_t*, std::uint64_t);

}  // namespace quern::rank_aggregation_detail
