// SPDX-License-Identifier: Apache-2.0
// Sorting on the CPU. The cost is memory traffic, so keys and values leave the caches only twice:
//
//   1. A sample determines the buckets: up to a few thousand key ranges with about equal numbers of keys, small enough
//      that a bucket fits a core's second-level cache.
//   2. One pass counts each bucket's keys and detects NaN.
//   3. One pass moves each key with its value into its bucket. A thread gathers whole cache lines for each bucket
//      and writes them around the caches: software write-combining (Satish et al., "Fast Sort on CPUs and GPUs",
//      SIGMOD 2010; Wassenberg & Sanders, "Engineering a Multi-core Radix Sort", Euro-Par 2011).
//   4. Each bucket is sorted in the cache: two passes from the low digit over the leading bits in which its keys differ,
//      as many as distinguish most of them, and then a pass over neighbours that are still out of order (the idea of
//      "LSD after MSD" of Polychroniou & Ross, "A Comprehensive Study of Main-Memory Partitioning", SIGMOD 2014).
//
// A bucket that is still larger than a cache (a common key among others, a range that the sample missed) is sorted in the
// same way again by all threads; one of equal keys is done. Every step is stable: threads take chunks of the input in
// order, and positions are counted by (bucket, chunk).
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "primitives/argument_checks.hpp"
#include "primitives/sort/radix_kernels.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/sort/sort_cpu.hpp"

namespace quern::primitives::radix {
namespace {

// Chooses the buckets of a radix sort from a sample, so that they have about equal weight for any keys.

/// False if there would be too many buckets. `weight`: sampled keys per bucket.
template <class Bits>
bool drawn(std::span<const Bits> sample, std::size_t weight, bucket_map<Bits>& map) {
    const auto last_cell = static_cast<std::size_t>((map.greatest - map.least) >> map.cell_shift);
    std::size_t bucket = 0, held = 0;
    bool open = false;  // `bucket` has cells already, with `held` sampled keys, and accepts more
    auto next = sample.begin();
    for (std::size_t c = 0; c <= last_cell; ++c) {
        const auto end = std::find_if(next, sample.end(), [&](Bits position) {
            return static_cast<std::size_t>((position - map.least) >> map.cell_shift) > c;
        });
        const auto here = static_cast<std::size_t>(end - next);
        next = end;
        const bool crowded = here > weight + weight / 2;
        if (open && (crowded || held + here > weight)) {
            ++bucket;
            open = false;
        }
        if (crowded) {
            const auto halvings = static_cast<unsigned>(
                std::lround(std::log2(static_cast<double>(here) / static_cast<double>(weight))));
            const unsigned bits = std::min(map.cell_shift, halvings);
            map.cells[c] = static_cast<Bits>(bucket << 8 | (map.cell_shift - bits));
            bucket += std::size_t{1} << bits;
        } else {
            if (!open) held = 0;
            open = true;
            held += here;
            map.cells[c] = static_cast<Bits>(bucket << 8 | map.cell_shift);
        }
        if (bucket >= bucket_map<Bits>::max_buckets) return false;
    }
    map.buckets = bucket + (open ? 1 : 0);
    return true;
}

/// About `wanted` buckets for keys whose places the sorted `sample` (not empty) represents. If it has two different places,
/// no bucket takes the whole sample.
template <class Bits>
void draw_buckets(std::span<const Bits> sample, std::size_t wanted, bucket_map<Bits>& map) {
    // One more place on each side, so that keys outside the sample do not join its ends if it is narrow.
    map.least = sample.front() - (sample.front() != 0 ? 1 : 0);
    map.greatest = sample.back() + (sample.back() != static_cast<Bits>(~Bits{0}) ? 1 : 0);
    const auto range_bits = static_cast<unsigned>(std::bit_width(map.greatest - map.least));
    map.cell_shift = range_bits > map.cell_bits ? range_bits - map.cell_bits : 0;
    std::size_t weight = std::max<std::size_t>(1, sample.size() / wanted);
    while (!drawn(sample, weight, map)) weight *= 2;
}

constexpr std::size_t bucket_bytes = std::size_t{1}
                                     << 17;   ///< of records: two of this, and room to spare, in a cache
constexpr std::size_t max_wanted = 1536;      ///< buckets: their lines stay in the cache
constexpr std::size_t sampled_for_each = 32;  ///< keys per bucket
constexpr std::size_t max_in_chunk = std::size_t{1} << 22;
constexpr std::size_t past_caches_bytes = std::size_t{1} << 25;

template <class Key, class Value>
class sorter {
  public:
    using bits = key_bits_t<Key>;
    using item = record<Key, Value>;

    sorter(cpu_place& place, std::span<Key> keys, Value* values, bits flip)
        : place_(place),
          run_(kernels_for<Key, Value>()),
          keys_(keys),
          values_(values),
          flip_(flip),
          items_(place, keys.size(), "sorting: the pairs once more"),
          past_caches_(keys.size() * sizeof(item) >= past_caches_bytes) {
        const std::size_t of_buckets = 2 * std::min(keys.size(), max_in_bucket),
                          of_lines = bucket_map<bits>::max_buckets * lines_together<Key, Value>;
        const std::size_t each = of_buckets * sizeof(item) + of_lines * sizeof(line);
        const std::size_t threads = std::clamp<std::size_t>(place.memory().left() / each, 1, place.threads());
        for (std::size_t t = 0; t < threads; ++t) {
            scratch_.emplace_back(place, of_buckets, "sorting: buckets");
            lines_.emplace_back(place, of_lines, "sorting: lines of the buckets");
        }
    }

    /// Sorts the keys [begin, end). `check`: rejects NaN.
    void sort(std::size_t begin, std::size_t end, bool check) {
        const auto map = std::make_unique<bucket_map<bits>>();
        draw(begin, end, *map);
        const std::size_t size = end - begin;
        const std::size_t block_ranges = std::max(std::min<std::size_t>(place_.threads(), size >> 14),
                                                  (size + max_in_chunk - 1) / max_in_chunk);
        std::vector<std::uint32_t> counts(block_ranges * map->buckets);
        std::atomic<bool> refused{false};
        for_each_taken(block_ranges, [&](std::size_t, std::size_t s) {
            const auto part = piece_of(size, block_ranges, s);
            if (run_.count(*map, flip_, keys_.data() + begin + part.begin, part.end - part.begin,
                           counts.data() + s * map->buckets))
                refused = true;
        });
        if (check && refused) refuse_not_a_number(place_, std::span<const Key>(keys_));

        std::vector<std::uint64_t> positions(counts.size()), bounds(map->buckets + 1);
        std::uint64_t sum = begin;
        for (std::size_t b = 0; b < map->buckets; ++b) {
            bounds[b] = sum;
            for (std::size_t s = 0; s < block_ranges; ++s) {
                positions[s * map->buckets + b] = sum;
                sum += counts[s * map->buckets + b];
            }
        }
        bounds[map->buckets] = sum;
        for_each_taken(block_ranges, [&](std::size_t thread, std::size_t s) {
            const auto part = piece_of(size, block_ranges, s);
            run_.scatter(*map, flip_, keys_.data() + begin + part.begin, values_at(begin + part.begin),
                         part.end - part.begin, positions.data() + s * map->buckets, items_.data(),
                         lines_[thread].data(), past_caches_);
        });
        sort_buckets(bounds);
    }

  private:
    static constexpr std::size_t max_in_bucket =
        std::min(max_in_cache, (std::size_t{1} << 21) / sizeof(item));

    Value* values_at(std::size_t i) const { return std::is_same_v<Value, nothing> ? values_ : values_ + i; }

    /// work(thread, p) for every p below `pieces`: any free thread takes the next one.
    template <class Work>
    void for_each_taken(std::size_t pieces, const Work& work) {
        std::atomic<std::size_t> next{0};
        for_each_piece(place_, std::min<std::size_t>(pieces, scratch_.size()), [&](std::size_t thread) {
            for (std::size_t p = next++; p < pieces; p = next++) {
                place_.ctx().check_stop();
                work(thread, p);
            }
        });
    }

    void draw(std::size_t begin, std::size_t end, bucket_map<bits>& map) {
        const std::size_t size = end - begin;
        const std::size_t wanted = std::clamp<std::size_t>(size * sizeof(item) / bucket_bytes, 4, max_wanted);
        const std::size_t sampled = std::min(size, wanted * sampled_for_each), each = size / sampled;
        std::vector<bits> sample(3 * sampled);  // and memory to sort it
        std::uint64_t random = 1;
        for (std::size_t s = 0; s < sampled; ++s) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            sample[s] = position_of(keys_[begin + s * each + (random >> 33) % each], flip_);
        }
        kernels_for<bits, nothing>().sort_in_cache(
            0, sample.data(), nullptr, sampled,
            reinterpret_cast<record<bits, nothing>*>(sample.data() + sampled));
        draw_buckets(std::span<const bits>(sample).first(sampled), wanted, map);
    }

    void sort_buckets(const std::vector<std::uint64_t>& bounds) {
        for_each_taken(bounds.size() - 1, [&](std::size_t thread, std::size_t b) {
            const std::size_t size = bounds[b + 1] - bounds[b];
            if (size <= max_in_bucket)
                run_.sort_records(flip_, items_.data() + bounds[b], size, scratch_[thread].data(),
                                  keys_.data() + bounds[b], values_at(bounds[b]), past_caches_);
        });
        for (std::size_t b = 0; b + 1 < bounds.size(); ++b) {
            if (bounds[b + 1] - bounds[b] > max_in_bucket) sort_giant(bounds[b], bounds[b + 1]);
        }
    }

    /// A bucket for all threads: copied back to its source, and sorted again unless its keys are equal.
    void sort_giant(std::size_t begin, std::size_t end) {
        std::atomic<bits> differing{0};
        const bits first = position_of(items_.data()[begin].key, flip_);
        const std::size_t size = end - begin, block_ranges = (size + max_in_chunk - 1) / max_in_chunk * 4;
        for_each_taken(block_ranges, [&](std::size_t, std::size_t s) {
            const auto part = piece_of(size, block_ranges, s);
            bits seen = 0;
            for (std::size_t i = begin + part.begin; i < begin + part.end; ++i) {
                const item& moved = items_.data()[i];
                seen |= position_of(moved.key, flip_) ^ first;
                keys_[i] = moved.key;
                if constexpr (!std::is_same_v<Value, nothing>) values_[i] = moved.value;
            }
            differing.fetch_or(seen, std::memory_order_relaxed);
        });
        if (differing != 0) sort(begin, end, false);
    }

    cpu_place& place_;
    const kernels<Key, Value>& run_;
    std::span<Key> keys_;
    Value* values_;
    bits flip_;
    cpu_array<item> items_;
    bool past_caches_;
    std::vector<cpu_array<item>> scratch_;  ///< of each thread
    std::vector<cpu_array<line>> lines_;    ///< of each thread
};

/// Up to this many are sorted by one thread, in its cache.
template <class Item>
constexpr std::size_t max_at_once = (std::size_t{1} << 19) / sizeof(Item);

}  // namespace

template <class Key, class Value>
void sort_whole(cpu_place& place, std::span<Key> keys, Value* values, key_bits_t<Key> flip, bool checked) {
    using item = record<Key, Value>;
    place.ctx().check_stop();
    if (keys.size() > max_at_once<item>) {
        sorter<Key, Value>(place, keys, values, flip).sort(0, keys.size(), !checked);
        return;
    }
    if (!checked) {
        const std::size_t first = first_not_a_number(std::span<const Key>(keys));
        if (first < keys.size()) throw_fault(fault::key_not_a_number, first);
    }
    if (keys.size() < 2) return;
    const cpu_array<item> scratch(place, 2 * keys.size(), "sorting: the pairs twice more");
    kernels_for<Key, Value>().sort_in_cache(flip, keys.data(), values, keys.size(), scratch.data());
}

#define QUERN_SORT(Key)                                                                          \
    template void sort_whole(cpu_place&, std::span<Key>, nothing*, key_bits_t<Key>, bool);       \
    template void sort_whole(cpu_place&, std::span<Key>, std::uint32_t*, key_bits_t<Key>, bool); \
    template void sort_whole(cpu_place&, std::span<Key>, std::uint64_t*, key_bits_t<Key>, bool);
QUERN_SORT(std::uint32_t)
QUERN_SORT(std::uint64_t)
QUERN_SORT(float)
QUERN_SORT(double)
#undef QUERN_SORT

}  // namespace quern::primitives::radix

namespace quern::primitives {

// key_bits is not needed: bits that no key has do not differ, and only differing bits are used.

template <sortable_key Key>
void sort_keys(cpu_place& place, std::span<Key> keys, sort_options options) {
    radix::sort_whole(place, radix::kernel_keys(keys), static_cast<radix::nothing*>(nullptr),
                      radix::flip_of<Key>(options.direction), false);
}

template <sortable_key Key, payload Value>
void sort_pairs(cpu_place& place, std::span<Key> keys, std::span<Value> values, sort_options options) {
    check_same_size("sort_pairs", "values", values.size(), "keys", keys.size());
    radix::sort_whole(place, radix::kernel_keys(keys), values.data(), radix::flip_of<Key>(options.direction),
                      false);
}

#define QUERN_SORT(Key)                                                                           \
    template void sort_keys(cpu_place&, std::span<Key>, sort_options);                            \
    template void sort_pairs(cpu_place&, std::span<Key>, std::span<std::uint32_t>, sort_options); \
    template void sort_pairs(cpu_place&, std::span<Key>, std::span<std::uint64_t>, sort_options);
QUERN_SORT(std::uint32_t)
QUERN_SORT(std::int32_t)
QUERN_SORT(std::uint64_t)
QUERN_SORT(std::int64_t)
QUERN_SORT(float)
QUERN_SORT(double)
#undef QUERN_SORT

}  // namespace quern::primitives
