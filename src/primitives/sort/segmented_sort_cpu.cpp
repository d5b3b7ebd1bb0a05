// SPDX-License-Identifier: Apache-2.0
// Sorting within segments on the CPU: threads take ranges of segments with about equal numbers of items; all threads sort
// segments too large for a cache, one after another.
#include <algorithm>
#include <atomic>
#include <vector>

#include "device/array.hpp"
#include "primitives/argument_checks.hpp"
#include "primitives/segments.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/sort/sort_cpu.hpp"

namespace quern::primitives {
namespace {

using radix::nothing;

template <class Value>
Value* from(Value* values, std::size_t i) {
    return std::is_same_v<Value, nothing> ? values : values + i;
}

template <class Key, class Value>
void sort_segments(cpu_place& place, std::span<Key> keys, Value* values,
                   std::span<const std::uint64_t> offsets, key_bits_t<Key> flip) {
    using item = radix::record<Key, Value>;
    constexpr std::size_t max_alone = (std::size_t{1} << 19) / sizeof(item);
    constexpr std::size_t chunk_items = std::size_t{1} << 15;
    check_offsets(place, offsets, keys.size());
    radix::refuse_not_a_number(place, std::span<const Key>(keys));
    const std::size_t segments = segments_in(offsets.size());
    if (keys.size() < 2) return;

    // Range s starts with the first segment that begins at or after item s · keys.size() / ranges.
    const std::size_t block_ranges = keys.size() / chunk_items + 1;
    const auto first_segment = [&](std::size_t s) {
        const std::uint64_t item_before = piece_of(keys.size(), block_ranges, s).begin;
        return static_cast<std::size_t>(std::lower_bound(offsets.begin(), offsets.end() - 1, item_before) -
                                        offsets.begin());
    };
    const std::size_t threads = std::min<std::size_t>(place.threads(), block_ranges);
    std::vector<cpu_array<item>> scratch;
    for (std::size_t t = 0; t < threads; ++t)
        scratch.emplace_back(place, 2 * std::min(keys.size(), max_alone), "sorting segments");
    const auto& run = radix::kernels_for<Key, Value>();
    std::atomic<std::size_t> next{0};
    std::atomic<bool> giants{false};
    for_each_piece(place, threads, [&](std::size_t thread) {
        for (std::size_t s = next++; s < block_ranges; s = next++) {
            place.ctx().check_stop();
            const std::size_t end = s + 1 == block_ranges ? segments : first_segment(s + 1);
            for (std::size_t g = first_segment(s); g < end; ++g) {
                const std::size_t begin = offsets[g], size = offsets[g + 1] - begin;
                if (size > max_alone)
                    giants.store(true, std::memory_order_relaxed);
                else if (size > 1)
                    run.sort_in_cache(flip, keys.data() + begin, from(values, begin), size,
                                      scratch[thread].data());
            }
        }
    });
    scratch.clear();
    if (!giants) return;
    for (std::size_t g = 0; g < segments; ++g) {
        const std::size_t begin = offsets[g], size = offsets[g + 1] - begin;
        if (size > max_alone)
            radix::sort_whole(place, keys.subspan(begin, size), from(values, begin), flip, true);
    }
}

}  // namespace

template <sortable_key Key>
void segmented_sort_keys(cpu_place& place, std::span<Key> keys, std::span<const std::uint64_t> offsets,
                         sort_options options) {
    sort_segments(place, radix::kernel_keys(keys), static_cast<nothing*>(nullptr), offsets,
                  radix::flip_of<Key>(options.direction));
}

template <sortable_key Key, payload Value>
void segmented_sort_pairs(cpu_place& place, std::span<Key> keys, std::span<Value> values,
                          std::span<const std::uint64_t> offsets, sort_options options) {
    check_same_size("segmented_sort_pairs", "values", values.size(), "keys", keys.size());
    sort_segments(place, radix::kernel_keys(keys), values.data(), offsets,
                  radix::flip_of<Key>(options.direction));
}

#define QUERN_SORT(Key)                                                                           \
    template void segmented_sort_keys(cpu_place&, std::span<Key>, std::span<const std::uint64_t>, \
                                      sort_options);                                              \
    template void segmented_sort_pairs(cpu_place&, std::span<Key>, std::span<std::uint32_t>,      \
                                       std::span<const std::uint64_t>, sort_options);             \
    template void segmented_sort_pairs(cpu_place&, std::span<Key>, std::span<std::uint64_t>,      \
                                       std::span<const std::uint64_t>, sort_options);
QUERN_SORT(std::uint32_t)
QUERN_SORT(std::int32_t)
QUERN_SORT(std::uint64_t)
QUERN_SORT(std::int64_t)
QUERN_SORT(float)
QUERN_SORT(double)
#undef QUERN_SORT

}  // namespace quern::primitives
