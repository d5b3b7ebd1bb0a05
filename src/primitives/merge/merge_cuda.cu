// SPDX-License-Identifier: Apache-2.0
// Merging on a GPU: rounds that merge runs in pairs, each round one pass over the data. If there are so many runs that the
// rounds cost more than a radix sort, the concatenated runs are sorted: a stable sort gives the same.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/merge/merge.hpp"
#include "primitives/merge/merge_tiles.cuh"
#include "primitives/segments.hpp"
#include "primitives/sort/radix_sort.cuh"

namespace quern::primitives {
namespace {

using quern::cuda::blocks_for;
using quern::cuda::launch_shape;

/// Two adjacent runs, and the first of their tiles.
struct run_pair {
    std::uint64_t first, a_count, b_count, first_tile;
};

struct merge_round {
    std::size_t first_pair, pairs;
    std::uint64_t tiles;
};

/// Two threads per tile, which look up its pair of runs and follow the merge path in it to the tile's ends. Bound by
/// latency: about 27 dependent loads.
template <class Raw>
__global__ void cut_tiles_kernel(const run_pair* pairs, std::uint64_t pair_count, std::uint64_t tile_count,
                                 const Raw* keys, key_bits_t<Raw> mask, cuda::merge_tile* tiles) {
    const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const std::uint64_t t = min(thread / 2, tile_count - 1);  // all stay: the two of a tile communicate
    std::uint64_t low = 0, high = pair_count - 1;             // the last pair that begins at or before t
    while (low < high) {
        const std::uint64_t middle = (low + high + 1) / 2;
        if (pairs[middle].first_tile <= t)
            low = middle;
        else
            high = middle - 1;
    }
    constexpr unsigned size = cuda::merge_tile_size<Raw>;
    const run_pair pair = pairs[low];
    const cuda::merge_tile tile = cuda::cut_tile(keys, pair.first, pair.a_count, pair.b_count,
                                                 (t - pair.first_tile) * size, size, 0, mask);
    if (thread % 2 == 0 && thread / 2 < tile_count) tiles[t] = tile;
}

/// The starts of non-empty runs, and the end of the last one.
std::vector<std::uint64_t> bounds_of_runs(std::span<const std::uint64_t> offsets) {
    std::vector<std::uint64_t> bounds(offsets.begin(), offsets.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    return bounds;
}

/// The pairs of every round, round after round. A run without a partner is merged with nothing: moved.
std::vector<merge_round> plan(const std::vector<std::uint64_t>& bounds, unsigned tile_size,
                              std::vector<run_pair>& pairs) {
    std::vector<merge_round> rounds;
    const std::size_t runs = bounds.size() - 1;
    for (std::size_t width = 1; width < runs; width *= 2) {
        merge_round round{pairs.size(), 0, 0};
        for (std::size_t r = 0; r < runs; r += 2 * width) {
            const std::uint64_t begin = bounds[r];
            const std::uint64_t middle = bounds[std::min(r + width, runs)];
            const std::uint64_t end = bounds[std::min(r + 2 * width, runs)];
            pairs.push_back({begin, middle - begin, end - middle, round.tiles});
            round.tiles += (end - begin + tile_size - 1) / tile_size;
        }
        round.pairs = pairs.size() - round.first_pair;
        rounds.push_back(round);
    }
    return rounds;
}

template <class Key, class Value>
void merge(cuda_place& place, device_span<const Key> keys, const Value* values,
           std::span<const std::uint64_t> offsets, Key* out_keys, Value* out_values, order direction) {
    constexpr bool paired = !std::is_same_v<Value, no_value>;
    using raw = cuda::raw_key<Key>;
    const std::size_t count = keys.size();
    cpu_place host(place.ctx());
    check_offsets(host, offsets, count);
    if (count == 0) return;
    const std::vector<std::uint64_t> bounds = bounds_of_runs(offsets);
    const std::size_t runs = bounds.size() - 1;
    const unsigned needed = static_cast<unsigned>(std::bit_width(runs - 1));

    // As many rounds as take the time of a sort.
    constexpr unsigned max_rounds = sizeof(Key) == 4 ? 5 : 9;
    if (needed == 0 || needed > max_rounds) {
        place.copy_within(out_keys, keys.data(), count * sizeof(Key));
        if constexpr (paired) place.copy_within(out_values, values, count * sizeof(Value));
    }
    if (needed == 0) return;
    const std::size_t spared = needed == 1 ? 0 : count;
    const cuda_array<Key> spare_keys(place, spared, "a copy of merged keys");
    const cuda_array<Value> spare_values(place, paired ? spared : 0, "a copy of merged values");
    if (needed > max_rounds) {
        cuda::radix_sort<raw, Value>(place, reinterpret_cast<raw*>(out_keys), out_values, count,
                                     cuda::mask_for<Key>(direction), 8 * sizeof(Key), false,
                                     {reinterpret_cast<raw*>(spare_keys.data()), spare_values.data()});
        return;
    }

    std::vector<run_pair> pairs;
    const std::vector<merge_round> rounds = plan(bounds, cuda::merge_tile_size<raw>, pairs);
    const auto device_pairs = array_from(place, std::span<const run_pair>(pairs), "pairs of runs");
    const cuda_array<cuda::merge_tile> tiles(place, rounds.front().tiles, "tiles of a merge");
    const auto mask = cuda::mask_for<Key>(direction);
    const auto* from_keys = reinterpret_cast<const raw*>(keys.data());
    const Value* from_values = values;
    for (std::size_t r = 0; r < rounds.size(); ++r) {
        const bool into_spare = (rounds.size() - r) % 2 == 0;
        auto* to_keys = reinterpret_cast<raw*>(into_spare ? spare_keys.data() : out_keys);
        Value* to_values = into_spare ? spare_values.data() : out_values;
        constexpr unsigned threads = 128;
        QUERN_LAUNCH(place, (launch_shape{blocks_for(2 * rounds[r].tiles, threads), threads}),
                     cut_tiles_kernel<raw>, device_pairs.data() + rounds[r].first_pair, rounds[r].pairs,
                     rounds[r].tiles, from_keys, mask, tiles.data());
        cuda::merge_tiles<raw, Value>(
            place, tiles.data(), rounds[r].tiles,
            {{{from_keys, from_values, nullptr, nullptr}, {nullptr, nullptr, to_keys, to_values}}, mask});
        from_keys = to_keys;
        from_values = to_values;
    }
}

}  // namespace

template <sortable_key Key, payload Value>
void merge_pairs(cuda_place& place, device_span<const Key> keys, device_span<const Value> values,
                 std::span<const std::uint64_t> offsets, device_span<Key> out_keys,
                 device_span<Value> out_values, order direction) {
    check_same_size("merge_pairs", "values", values.size(), "keys", keys.size());
    check_same_size("merge_pairs", "out_keys", out_keys.size(), "keys", keys.size());
    check_same_size("merge_pairs", "out_values", out_values.size(), "keys", keys.size());
    merge(place, keys, values.data(), offsets, out_keys.data(), out_values.data(), direction);
}

template <sortable_key Key>
void merge_keys(cuda_place& place, device_span<const Key> keys, std::span<const std::uint64_t> offsets,
                device_span<Key> out_keys, order direction) {
    check_same_size("merge_keys", "out_keys", out_keys.size(), "keys", keys.size());
    const no_value* none = nullptr;
    merge(place, keys, none, offsets, out_keys.data(), static_cast<no_value*>(nullptr), direction);
}

#define QUERN_MERGE_OF(KEY)                                                                                 \
    template void merge_keys(cuda_place&, device_span<const KEY>, std::span<const std::uint64_t>,           \
                             device_span<KEY>, order);                                                      \
    template void merge_pairs(cuda_place&, device_span<const KEY>, device_span<const std::uint32_t>,        \
                              std::span<const std::uint64_t>, device_span<KEY>, device_span<std::uint32_t>, \
                              order);                                                                       \
    template void merge_pairs(cuda_place&, device_span<const KEY>, device_span<const std::uint64_t>,        \
                              std::span<const std::uint64_t>, device_span<KEY>, device_span<std::uint64_t>, \
                              order);
QUERN_MERGE_OF(std::uint32_t)
QUERN_MERGE_OF(std::int32_t)
QUERN_MERGE_OF(float)
QUERN_MERGE_OF(std::uint64_t)
QUERN_MERGE_OF(std::int64_t)
QUERN_MERGE_OF(double)

}  // namespace quern::primitives
