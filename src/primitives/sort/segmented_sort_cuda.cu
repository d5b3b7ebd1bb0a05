// SPDX-License-Identifier: Apache-2.0
// Sorting segments on a GPU, each by the method for its length, all lengths at once:
//
//   up to 255 items     counting, many segments per block             (block_sort.cu)
//   up to 4096          radix sort in a block, of three sizes          (block_sort.cu)
//   up to giant_length  pieces of 4096 in blocks, then rounds of merging (merge/merge_tiles.cu), until each segment of
//                       this kind is one run
//   beyond              the radix sort of whole arrays, one after another (radix_sort_kernels.cuh)
//
// A kernel reads every segment's offsets once, rejects invalid ones, and lists the others by kind; the order of a list
// varies and does not change the result. The host then reads the size of each kind: the only synchronisation, which also
// throws for invalid offsets before any further work. Very short segments are in no list: a byte at their first item holds
// their length, so that millions of empty segments cost nothing later.
#include <cuda/atomic>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/merge/merge_tiles.cuh"
#include "primitives/segments.hpp"
#include "primitives/sort/block_sort.cuh"
#include "primitives/sort/radix_sort.cuh"

namespace quern::primitives {
namespace {

using cuda::block_kinds;
using cuda::block_length;
using cuda::block_range;
using cuda::counted_length;
using cuda::longest_block_range;
using cuda::merge_tile;
using cuda::raw_key;
using quern::cuda::blocks_for;
using quern::cuda::launch_shape;

/// From here on a separate radix sort is faster than rounds of merging.
template <class Key>
constexpr std::uint64_t giant_length = sizeof(Key) == 4 ? std::uint64_t{1} << 22 : std::uint64_t{1} << 24;

struct long_segment {
    std::uint64_t begin, length;
    std::uint64_t first_piece, first_tile;  ///< its pieces and tiles among those of all long segments
};
struct giant_segment {
    std::uint64_t begin, length;
};
/// The size of each kind: counted by the kernel, read by the host.
struct kinds {
    std::uint64_t counted, blocks[block_kinds], longs, giants;
    std::uint64_t pieces, tiles;  ///< of the long ones
    std::uint64_t longest_long;
};

__host__ __device__ constexpr std::uint64_t parts(std::uint64_t length, std::uint64_t part) {
    return (length + part - 1) / part;
}

/// The lists of segments; each has capacity for as many as fit into the items.
struct segment_lists {
    std::uint8_t* lengths;
    block_range* blocks[block_kinds];
    long_segment* longs;
    giant_segment* giants;
    kinds* counts;
    std::uint64_t capacity[block_kinds], long_capacity, giant_capacity;
};

/// The next entry of a list, or `capacity` if it is full, which happens only with invalid offsets.
__device__ inline std::uint64_t next_entry(std::uint64_t* count, std::uint64_t amount = 1) {
    return atomicAdd(reinterpret_cast<unsigned long long*>(count), static_cast<unsigned long long>(amount));
}

/// One thread per segment. One atomic operation for each listed one, and those have more than 255 items.
__global__ void list_segments_kernel(const std::uint64_t* offsets, std::uint64_t segments,
                                     std::uint64_t items, std::uint64_t giant, unsigned tile_size,
                                     segment_lists lists, std::uint64_t* fault_word) {
    const std::uint64_t s = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const bool present = s < segments;
    const std::uint64_t begin = present ? offsets[s] : 0, end = present ? offsets[s + 1] : 0;
    const bool wrong = present && (end < begin || end > items || (s == 0 && begin != 0) ||
                                   (s + 1 == segments && end != items));
    if (wrong) quern::cuda::note_fault(fault_word, fault::offsets_not_rising, s);
    const std::uint64_t length = wrong || begin > items ? 0 : end - begin;
    const bool counted = length > 1 && length <= counted_length;
    if (__syncthreads_or(counted) != 0 && threadIdx.x == 0) {  // by any number of blocks
        ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device> any(lists.counts->counted);
        any.store(1, ::cuda::memory_order_relaxed);
    }
    if (length <= counted_length) {
        if (counted) lists.lengths[begin] = static_cast<std::uint8_t>(length);
        return;
    }
    for (unsigned kind = 0; kind < block_kinds; ++kind) {
        if (length > block_length(kind)) continue;
        const std::uint64_t at = next_entry(&lists.counts->blocks[kind]);
        if (at < lists.capacity[kind])
            lists.blocks[kind][at] = {begin, static_cast<std::uint32_t>(length), 0};
        return;
    }
    if (length < giant) {
        const std::uint64_t at = next_entry(&lists.counts->longs);
        if (at >= lists.long_capacity) return;
        const std::uint64_t first_piece =
            next_entry(&lists.counts->pieces, parts(length, longest_block_range));
        const std::uint64_t first_tile = next_entry(&lists.counts->tiles, parts(length, tile_size));
        lists.longs[at] = {begin, length, first_piece, first_tile};
        atomicMax(reinterpret_cast<unsigned long long*>(&lists.counts->longest_long),
                  static_cast<unsigned long long>(length));
    } else {
        const std::uint64_t at = next_entry(&lists.counts->giants);
        if (at < lists.giant_capacity) lists.giants[at] = {begin, length};
    }
}

/// Rounds until a segment's pieces are one run.
__host__ __device__ inline unsigned rounds_of(std::uint64_t length) {
    unsigned rounds = 0;
    while ((std::uint64_t{longest_block_range} << rounds) < length) ++rounds;
    return rounds;
}

/// A block writes the pieces of a long segment, and its index at each of its tiles. With an odd number of rounds the pieces
/// are sorted into the spare arrays, so that the last round ends in place.
__global__ void cut_long_kernel(const long_segment* longs, unsigned tile_size, block_range* pieces,
                                std::uint32_t* tile_owners) {
    const long_segment mine = longs[blockIdx.x];
    const std::uint32_t to_spare = rounds_of(mine.length) % 2;
    for (std::uint64_t p = threadIdx.x; p < parts(mine.length, longest_block_range); p += blockDim.x) {
        const std::uint64_t from = p * longest_block_range;
        const std::uint64_t length = min(mine.length - from, std::uint64_t{longest_block_range});
        pieces[mine.first_piece + p] = {mine.begin + from, static_cast<std::uint32_t>(length), to_spare};
    }
    for (std::uint64_t t = threadIdx.x; t < parts(mine.length, tile_size); t += blockDim.x)
        tile_owners[mine.first_tile + t] = blockIdx.x;
}

/// Two threads cut a tile of this round. Segments that are one run already give empty tiles.
template <class Raw>
__global__ void cut_round_kernel(const long_segment* longs, const std::uint32_t* tile_owners,
                                 std::uint64_t tiles, unsigned round, const Raw* keys, const Raw* spare_keys,
                                 key_bits_t<Raw> mask, merge_tile* out) {
    const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const std::uint64_t t = min(thread / 2, tiles - 1);  // all stay: the two of a tile communicate
    constexpr unsigned size = cuda::merge_tile_size<Raw>;
    const long_segment mine = longs[tile_owners[t]];
    const unsigned rounds = rounds_of(mine.length);
    const bool active = round < rounds;
    const std::uint32_t source = active ? (rounds - round) % 2 : 0;
    const std::uint64_t run = std::uint64_t{longest_block_range} << round;
    const std::uint64_t place = (t - mine.first_tile) * size;
    const std::uint64_t first = active ? place / (2 * run) * (2 * run) : 0;
    const std::uint64_t a_count = active ? min(run, mine.length - first) : 0;
    const std::uint64_t b_count = active ? min(run, mine.length - first - a_count) : 0;
    const merge_tile tile = cuda::cut_tile(source == 0 ? keys : spare_keys, mine.begin + first, a_count,
                                           b_count, active ? place - first : 0, size, source, mask);
    if (thread % 2 == 0 && thread / 2 < tiles) out[t] = tile;
}

/// The memory after segment_lists.
class listed_segments {
  public:
    listed_segments(cuda_place& place, std::uint64_t items, std::uint64_t giant)
        : lengths_(place, items, "lengths of short segments"),
          longs_(place, items / (longest_block_range + 1)),
          giants_(place, items / giant),
          counts_(place, 1) {
        std::uint64_t shorter = counted_length;
        for (unsigned kind = 0; kind < block_kinds; ++kind) {
            blocks_[kind] = cuda_array<block_range>(place, items / (shorter + 1), "a list of segments");
            shorter = block_length(kind);
        }
        place.fill_bytes(lengths_.data(), 0, items);
        place.fill_bytes(counts_.data(), 0, sizeof(kinds));
    }
    segment_lists present() const {
        segment_lists lists{};
        lists.lengths = lengths_.data();
        for (unsigned kind = 0; kind < block_kinds; ++kind) {
            lists.blocks[kind] = blocks_[kind].data();
            lists.capacity[kind] = blocks_[kind].size();
        }
        lists.longs = longs_.data();
        lists.long_capacity = longs_.size();
        lists.giants = giants_.data();
        lists.giant_capacity = giants_.size();
        lists.counts = counts_.data();
        return lists;
    }
    /// Synchronises, and throws for invalid offsets.
    kinds count(cuda_place& place) const {
        kinds found;
        copy_out<kinds>(place, counts_.span(), std::span(&found, 1));
        return found;
    }
    std::vector<giant_segment> giants(cuda_place& place, std::uint64_t count) const {
        return count == 0 ? std::vector<giant_segment>() : to_host(place, giants_.span().first(count));
    }

  private:
    cuda_array<std::uint8_t> lengths_;
    std::array<cuda_array<block_range>, block_kinds> blocks_;
    cuda_array<long_segment> longs_;
    cuda_array<giant_segment> giants_;
    cuda_array<kinds> counts_;
};

template <class Raw, class Value>
void sort_long(cuda_place& place, const long_segment* longs, const kinds& found,
               cuda::sorted_arrays<Raw, Value> arrays) {
    constexpr unsigned size = cuda::merge_tile_size<Raw>;
    const cuda_array<block_range> pieces(place, found.pieces, "pieces of long segments");
    const cuda_array<std::uint32_t> owners(place, found.tiles, "tiles of long segments");
    const cuda_array<merge_tile> tiles(place, found.tiles, "tiles of long segments");
    constexpr unsigned threads = 128;
    QUERN_LAUNCH(place, (launch_shape{static_cast<unsigned>(found.longs), threads}), cut_long_kernel, longs,
                 size, pieces.data(), owners.data());
    cuda::sort_block_ranges(place, block_kinds - 1, pieces.data(), found.pieces, arrays);
    const cuda::merge_buffers<Raw, Value> buffers{
        {{arrays.keys, arrays.values, arrays.keys, arrays.values},
         {arrays.spare_keys, arrays.spare_values, arrays.spare_keys, arrays.spare_values}},
        arrays.mask};
    for (unsigned round = 0; round < rounds_of(found.longest_long); ++round) {
        QUERN_LAUNCH(place, (launch_shape{blocks_for(2 * found.tiles, threads), threads}),
                     cut_round_kernel<Raw>, longs, owners.data(), found.tiles, round, arrays.keys,
                     arrays.spare_keys, arrays.mask, tiles.data());
        cuda::merge_tiles(place, tiles.data(), found.tiles, buffers);
    }
}

template <class Key, class Value>
void sort_segments(cuda_place& place, device_span<Key> keys, Value* values,
                   device_span<const std::uint64_t> offsets, sort_options options) {
    constexpr bool paired = !std::is_same_v<Value, no_value>;
    using raw = raw_key<Key>;
    const std::uint64_t items = keys.size();
    const std::uint64_t segments = segments_in(offsets.size());
    if (segments == 0) {
        // Without segments there are no items: the only offset, if any, must be 0.
        std::uint64_t only = 0;
        if (!offsets.empty()) copy_out<std::uint64_t>(place, offsets, std::span(&only, 1));
        if (items != 0 || only != 0) throw_fault(fault::offsets_not_rising, 0);
        return;
    }
    const listed_segments lists(place, items, giant_length<Key>);
    constexpr unsigned threads = 256;
    QUERN_LAUNCH(place, (launch_shape{blocks_for(segments, threads), threads}), list_segments_kernel,
                 offsets.data(), segments, items, giant_length<Key>, cuda::merge_tile_size<raw>,
                 lists.present(), place.fault_word());
    const kinds found = lists.count(place);
    cuda::refuse_nan(place, reinterpret_cast<const raw*>(keys.data()), items);
    const unsigned bits = cuda::bits_to_sort<Key>(options);
    if (bits == 0) return;

    const std::uint64_t spared = found.longs + found.giants == 0 ? 0 : items;
    const cuda_array<Key> spare_keys(place, spared, "a copy of sorted keys");
    const cuda_array<Value> spare_values(place, paired ? spared : 0, "a copy of sorted values");
    const cuda::sorted_arrays<raw, Value> arrays{reinterpret_cast<raw*>(keys.data()),
                                                 reinterpret_cast<raw*>(spare_keys.data()),
                                                 values,
                                                 spare_values.data(),
                                                 cuda::mask_for<Key>(options.direction),
                                                 bits};
    if (found.counted != 0) cuda::sort_counted(place, lists.present().lengths, items, arrays);
    for (unsigned kind = 0; kind < block_kinds; ++kind)
        cuda::sort_block_ranges(place, kind, lists.present().blocks[kind], found.blocks[kind], arrays);
    if (found.longs != 0) sort_long(place, lists.present().longs, found, arrays);
    for (const giant_segment& giant : lists.giants(place, found.giants)) {
        const std::uint64_t at = giant.begin;
        const cuda::sort_scratch<raw, Value> capacity{arrays.spare_keys + at,
                                                      paired ? arrays.spare_values + at : nullptr};
        cuda::radix_sort<raw, Value>(place, arrays.keys + at, paired ? values + at : nullptr, giant.length,
                                     arrays.mask, bits, false, capacity);
    }
}

}  // namespace

template <sortable_key Key>
void segmented_sort_keys(cuda_place& place, device_span<Key> keys, device_span<const std::uint64_t> offsets,
                         sort_options options) {
    sort_segments(place, keys, static_cast<no_value*>(nullptr), offsets, options);
}

template <sortable_key Key, payload Value>
void segmented_sort_pairs(cuda_place& place, device_span<Key> keys, device_span<Value> values,
                          device_span<const std::uint64_t> offsets, sort_options options) {
    check_same_size("segmented_sort_pairs", "values", values.size(), "keys", keys.size());
    sort_segments(place, keys, values.data(), offsets, options);
}

#define QUERN_SEGMENTED_SORT_OF(KEY)                                                                   \
    template void segmented_sort_keys(cuda_place&, device_span<KEY>, device_span<const std::uint64_t>, \
                                      sort_options);                                                   \
    template void segmented_sort_pairs(cuda_place&, device_span<KEY>, device_span<std::uint32_t>,      \
                                       device_span<const std::uint64_t>, sort_options);                \
    template void segmented_sort_pairs(cuda_place&, device_span<KEY>, device_span<std::uint64_t>,      \
                                       device_span<const std::uint64_t>, sort_options);
QUERN_SEGMENTED_SORT_OF(std::uint32_t)
QUERN_SEGMENTED_SORT_OF(std::int32_t)
QUERN_SEGMENTED_SORT_OF(float)
QUERN_SEGMENTED_SORT_OF(std::uint64_t)
QUERN_SEGMENTED_SORT_OF(std::int64_t)
QUERN_SEGMENTED_SORT_OF(double)

}  // namespace quern::primitives
