// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. Vectors find the bucket of each key, detect NaN and
// move whole lines; counting and placing are scalar, one store for each key.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>

// The targets between these do not speed up these loops and would cost compile time.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/sort/radix_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "primitives/sort/radix_kernels.hpp"

#ifndef QUERN_SIMD_RADIX_KERNELS
#define QUERN_SIMD_RADIX_KERNELS
namespace quern::primitives::radix {
using all_kernels =
    std::tuple<kernels<std::uint32_t, nothing>, kernels<std::uint32_t, std::uint32_t>,
               kernels<std::uint32_t, std::uint64_t>, kernels<float, nothing>, kernels<float, std::uint32_t>,
               kernels<float, std::uint64_t>, kernels<std::uint64_t, nothing>,
               kernels<std::uint64_t, std::uint32_t>, kernels<std::uint64_t, std::uint64_t>,
               kernels<double, nothing>, kernels<double, std::uint32_t>, kernels<double, std::uint64_t>>;
}  // namespace quern::primitives::radix
#endif

HWY_BEFORE_NAMESPACE();
namespace quern::primitives::radix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t block_size = 256;

template <class Key>
using lanes_of = hn::ScalableTag<key_bits_t<Key>>;

template <class Key>
HWY_INLINE hn::Vec<lanes_of<Key>> load_stored(const Key* keys) {
    if constexpr (std::is_floating_point_v<Key>)
        return hn::BitCast(lanes_of<Key>(), hn::LoadU(hn::ScalableTag<Key>(), keys));
    else
        return hn::LoadU(lanes_of<Key>(), keys);
}

// position_of, lane by lane.
template <class Key>
HWY_INLINE hn::Vec<lanes_of<Key>> places_of(hn::Vec<lanes_of<Key>> stored, hn::Vec<lanes_of<Key>> flip) {
    if constexpr (std::is_floating_point_v<Key>) {
        const lanes_of<Key> d;
        const hn::RebindToSigned<decltype(d)> s;
        const auto negative = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(s, stored)));
        stored = hn::Sub(hn::Xor(stored, hn::ShiftRight<1>(negative)), negative);
    }
    return hn::Xor(stored, flip);
}

/// The buckets of up to block_size keys; with Check, whether one is NaN.
template <bool Check, class Key>
HWY_INLINE bool find_buckets(const bucket_map<key_bits_t<Key>>& map, key_bits_t<Key> flip, const Key* keys,
                             std::size_t size, key_bits_t<Key>* buckets) {
    using bits = key_bits_t<Key>;
    const lanes_of<Key> d;
    const hn::RebindToSigned<decltype(d)> s;
    const auto flips = hn::Set(d, flip), least = hn::Set(d, map.least), greatest = hn::Set(d, map.greatest);
    const auto below_mask = hn::Set(d, (bits{1} << map.cell_shift) - 1), shift_mask = hn::Set(d, bits{255});
    const auto magnitude = hn::Set(s, std::numeric_limits<std::make_signed_t<bits>>::max());
    const auto infinity = hn::BitCast(
        s, hn::Set(
               d, std::bit_cast<bits>(
                      std::numeric_limits<std::conditional_t<sizeof(Key) == 4, float, double>>::infinity())));
    auto not_numbers = hn::Zero(s);
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= size; i += hn::Lanes(d)) {
        const auto stored = load_stored(keys + i);
        if constexpr (Check && std::is_floating_point_v<Key>) {
            const auto beyond = hn::Gt(hn::And(hn::BitCast(s, stored), magnitude), infinity);
            not_numbers = hn::Or(not_numbers, hn::VecFromMask(s, beyond));
        }
        const auto inside = hn::Min(hn::Max(places_of<Key>(stored, flips), least), greatest);
        const auto distance = hn::Sub(inside, least);
        const auto cell_index = hn::ShiftRightSame(distance, static_cast<int>(map.cell_shift));
        const auto cell = hn::GatherIndex(d, map.cells.data(), hn::BitCast(s, cell_index));
        const auto below = hn::Shr(hn::And(distance, below_mask), hn::And(cell, shift_mask));
        hn::StoreU(hn::Add(hn::ShiftRight<8>(cell), below), d, buckets + i);
    }
    bool refused = !hn::AllFalse(s, hn::Ne(not_numbers, hn::Zero(s)));
    for (; i < size; ++i) {
        if constexpr (Check) refused |= is_not_a_number(keys[i]);
        buckets[i] = static_cast<bits>(map.bucket_of(position_of(keys[i], flip)));
    }
    return refused;
}

template <class Key, class Value>
bool count(const bucket_map<key_bits_t<Key>>& map, key_bits_t<Key> flip, const Key* keys, std::size_t size,
           std::uint32_t* counts) {
    alignas(64) key_bits_t<Key> buckets[block_size];
    // Two tables, so that equal neighbours do not wait for each other.
    alignas(64) std::uint32_t odd[bucket_map<key_bits_t<Key>>::max_buckets] = {};
    bool refused = false;
    for (std::size_t done = 0; done < size; done += block_size) {
        const std::size_t here = std::min(block_size, size - done);
        refused |= find_buckets<true>(map, flip, keys + done, here, buckets);
        std::size_t i = 0;
        for (; i + 2 <= here; i += 2) {
            ++counts[buckets[i]];
            ++odd[buckets[i + 1]];
        }
        if (i < here) ++counts[buckets[i]];
    }
    for (std::size_t b = 0; b < map.buckets; ++b) counts[b] += odd[b];
    return refused;
}

template <bool PastCaches>
HWY_INLINE void copy_lines(const line* from, std::byte* to, std::size_t lines) {
    const hn::CappedTag<std::uint64_t, 8> d;
    const auto* source = reinterpret_cast<const std::uint64_t*>(from);
    auto* target = reinterpret_cast<std::uint64_t*>(to);
    for (std::size_t i = 0; i < 8 * lines; i += hn::Lanes(d)) {
        if constexpr (PastCaches)
            hn::Stream(hn::Load(d, source + i), d, target + i);
        else
            hn::Store(hn::Load(d, source + i), d, target + i);
    }
}

template <class Key, class Value>
HWY_INLINE record<Key, Value> record_at(const Key* keys, const Value* values, std::size_t i) {
    if constexpr (std::is_same_v<Value, nothing>)
        return {keys[i]};
    else
        return {keys[i], values[i]};
}

template <bool PastCaches, class Key, class Value>
HWY_INLINE void scatter_through(const bucket_map<key_bits_t<Key>>& map, key_bits_t<Key> flip, const Key* keys,
                                const Value* values, std::size_t size, std::uint64_t* positions,
                                record<Key, Value>* out, line* gathered) {
    using item = record<Key, Value>;
    constexpr std::size_t together = records_together<Key, Value>, lines = lines_together<Key, Value>;
    alignas(64) key_bits_t<Key> buckets[block_size];
    std::uint64_t first[bucket_map<key_bits_t<Key>>::max_buckets];
    std::copy(positions, positions + map.buckets, first);
    auto* slots = reinterpret_cast<item*>(gathered);
    for (std::size_t done = 0; done < size; done += block_size) {
        const std::size_t here = std::min(block_size, size - done);
        find_buckets<false>(map, flip, keys + done, here, buckets);
        for (std::size_t i = 0; i < here; ++i) {
            const std::size_t b = buckets[i];
            const std::uint64_t at = positions[b]++;
            item* const mine = slots + b * together;
            mine[at % together] = record_at(keys, values, done + i);
            if (at % together != together - 1) continue;
            const std::uint64_t begin = at + 1 - together;
            if (begin >= first[b]) [[likely]]
                copy_lines<PastCaches>(gathered + b * lines, reinterpret_cast<std::byte*>(out + begin),
                                       lines);
            else
                std::copy(mine + first[b] % together, mine + together, out + first[b]);
        }
    }
    for (std::size_t b = 0; b < map.buckets; ++b) {
        const std::uint64_t end = positions[b], begin = std::max(first[b], end - end % together);
        if (begin < end)
            std::copy(slots + b * together + begin % together,
                      slots + b * together + begin % together + (end - begin), out + begin);
    }
    if constexpr (PastCaches) hwy::FlushStream();
}

template <class Key, class Value>
void scatter(const bucket_map<key_bits_t<Key>>& map, key_bits_t<Key> flip, const Key* keys,
             const Value* values, std::size_t size, std::uint64_t* positions, record<Key, Value>* out,
             line* gathered, bool past_caches) {
    if (past_caches)
        scatter_through<true>(map, flip, keys, values, size, positions, out, gathered);
    else
        scatter_through<false>(map, flip, keys, values, size, positions, out, gathered);
}

template <class Item, class PositionOf>
HWY_INLINE void insertion_sort(const PositionOf& position, Item* items, std::size_t size) {
    for (std::size_t i = 1; i < size; ++i) {
        const Item moving = items[i];
        const auto its_position = position(moving.key);
        std::size_t hole = i;
        for (; hole > 0 && its_position < position(items[hole - 1].key); --hole)
            items[hole] = items[hole - 1];
        items[hole] = moving;
    }
}

constexpr std::size_t max_by_insertion = 24;
constexpr unsigned max_digit_bits = 12;

/// A digit: the bits [shift, shift + width) of a place.
struct digit {
    unsigned shift, width;
    template <class Bits>
    HWY_INLINE std::size_t of(Bits position) const {
        return static_cast<std::size_t>(position >> shift) & ((std::size_t{1} << width) - 1);
    }
};

/// Converts counts to the first position of each digit's value.
HWY_INLINE void to_positions(std::uint32_t* counts, unsigned width) {
    std::uint32_t sum = 0;
    for (std::size_t v = 0; v < std::size_t{1} << width; ++v) {
        const std::uint32_t here = counts[v];
        counts[v] = sum;
        sum += here;
    }
}

template <class Item, class PositionOf>
HWY_INLINE void move_by_digit(const PositionOf& position, digit by, const Item* from, std::size_t size,
                              std::uint32_t* positions, Item* to) {
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t value = by.of(position(from[i].key));
        to[positions[value]++] = from[i];
    }
}

/// Sorts `from` into `to`, which may be the same; `other` has the same capacity. `differing` (not 0) has the bits in which
/// places differ.
template <class Bits, class Item, class PositionOf>
HWY_NOINLINE void sort_items(const PositionOf& position, Bits differing, const Item* from, std::size_t size,
                             Item* other, Item* to);

/// Items sorted by the bits from `sorted_from` on, and by their earlier order among equals: sorts by the rest.
template <class Bits, class Item, class PositionOf>
HWY_INLINE void finish(const PositionOf& position, unsigned sorted_from, Item* items, std::size_t size,
                       Item* other) {
    constexpr std::size_t at_once = 64;
    for (std::size_t i = 0; i + 1 < size;) {
        const std::size_t end = std::min(i + at_once, size - 1);
        bool wrong = false;  // one test for many, so that the loop is vectorised
        for (std::size_t j = i; j < end; ++j) wrong |= position(items[j + 1].key) < position(items[j].key);
        if (!wrong) {
            i = end;
            continue;
        }
        while (position(items[i].key) <= position(items[i + 1].key)) ++i;
        const Bits group = position(items[i].key) >> sorted_from;
        std::size_t first = i, last = i + 1;
        Bits differing = position(items[i].key) ^ position(items[i + 1].key);
        while (first > 0 && position(items[first - 1].key) >> sorted_from == group) --first;
        while (last + 1 < size && position(items[last + 1].key) >> sorted_from == group) ++last;
        for (std::size_t j = first; j <= last; ++j)
            differing |= position(items[j].key) ^ position(items[i].key);
        sort_items<Bits>(position, differing, items + first, last + 1 - first, other, items + first);
        i = last;
    }
}

template <class Bits, class Item, class PositionOf>
HWY_NOINLINE void sort_items(const PositionOf& position, Bits differing, const Item* from, std::size_t size,
                             Item* other, Item* to) {
    if (size <= max_by_insertion) {
        if (from != to) std::copy(from, from + size, to);
        return insertion_sort(position, to, size);
    }
    const auto top = static_cast<unsigned>(std::bit_width(differing));
    const auto lowest = static_cast<unsigned>(std::countr_zero(differing));
    const auto size_bits = static_cast<unsigned>(std::bit_width(size));
    // So many leading bits distinguish all but a few of random keys; finish() does the rest.
    const unsigned wanted = std::min({top - lowest, size_bits + 7, 2 * max_digit_bits});
    const unsigned widest = std::clamp(size_bits, 6u, max_digit_bits);
    const unsigned low_width = wanted <= widest ? 0 : wanted / 2, high_width = wanted - low_width;
    const digit low{top - wanted, low_width}, high{top - high_width, high_width};
    alignas(64) std::uint32_t low_counts[std::size_t{1} << max_digit_bits];
    alignas(64) std::uint32_t high_counts[std::size_t{1} << max_digit_bits];
    std::memset(high_counts, 0, sizeof(std::uint32_t) << high_width);
    if (low_width == 0) {
        for (std::size_t i = 0; i < size; ++i) ++high_counts[high.of(position(from[i].key))];
        to_positions(high_counts, high_width);
        Item* const sorted = from == to ? other : to;
        move_by_digit(position, high, from, size, high_counts, sorted);
        if (sorted != to) std::copy(sorted, sorted + size, to);
    } else {
        std::memset(low_counts, 0, sizeof(std::uint32_t) << low_width);
        for (std::size_t i = 0; i < size; ++i) {
            const auto p = position(from[i].key);
            ++low_counts[low.of(p)];
            ++high_counts[high.of(p)];
        }
        to_positions(low_counts, low_width);
        to_positions(high_counts, high_width);
        move_by_digit(position, low, from, size, low_counts, other);
        move_by_digit(position, high, static_cast<const Item*>(other), size, high_counts, to);
    }
    if (top - wanted > lowest) finish<Bits>(position, top - wanted, to, size, other);
}

/// Extracts keys and values from their records.
template <bool PastCaches, class Key, class Value>
HWY_INLINE void part_records(const record<Key, Value>* items, std::size_t size, Key* keys, Value* values) {
    using bits = key_bits_t<Key>;
    std::size_t i = 0;
    if constexpr (PastCaches && sizeof(record<Key, Value>) == 2 * sizeof(bits)) {
        // Two arrays of one width: whole vectors, after the keys are aligned.
        const lanes_of<Key> d;
        const std::size_t lanes = hn::Lanes(d), bytes = lanes * sizeof(bits);
        const auto misaligned = [&](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % bytes; };
        while (i < size && misaligned(keys + i) != 0) {
            keys[i] = items[i].key;
            values[i] = items[i].value;
            ++i;
        }
        if (sizeof(Value) == sizeof(Key) && misaligned(values + i) == 0) {
            for (; i + lanes <= size; i += lanes) {
                hn::Vec<decltype(d)> k, v;
                hn::LoadInterleaved2(d, reinterpret_cast<const bits*>(items + i), k, v);
                hn::Stream(k, d, reinterpret_cast<bits*>(keys + i));
                hn::Stream(v, d, reinterpret_cast<bits*>(values + i));
            }
        }
    }
    for (; i < size; ++i) {
        keys[i] = items[i].key;
        if constexpr (!std::is_same_v<Value, nothing>) values[i] = items[i].value;
    }
}

/// Sorts `from` into `to` and returns the location of the result: `to`, or `from` if there was nothing to do.
template <class Key, class Value>
HWY_INLINE const record<Key, Value>* sort_from(key_bits_t<Key> flip, const record<Key, Value>* from,
                                               std::size_t size, record<Key, Value>* other,
                                               record<Key, Value>* to) {
    using bits = key_bits_t<Key>;
    const auto first = std::bit_cast<bits>(from[0].key);
    bits differing = 0;
    for (std::size_t i = 0; i < size; ++i) differing |= std::bit_cast<bits>(from[i].key) ^ first;
    if (differing == 0) return from;
    bits turned = flip;
    if constexpr (std::is_floating_point_v<Key>) {
        if ((differing & top_bit<bits>) != 0) {  // both signs
            bits varying = 0;
            const bits position_of_first = position_of(from[0].key, flip);
            for (std::size_t i = 0; i < size; ++i)
                varying |= position_of(from[i].key, flip) ^ position_of_first;
            if (varying == 0) return from;  // zeros of both signs
            sort_items<bits>([flip](Key key) { return position_of(key, flip); }, varying, from, size, other,
                             to);
            return to;
        }
        // One sign: the order of the bits, or its reverse.
        if ((first & top_bit<bits>) != 0) turned = ~flip;
    }
    sort_items<bits>([turned](Key key) { return std::bit_cast<bits>(key) ^ turned; }, differing, from, size,
                     other, to);
    return to;
}

template <class Key, class Value>
void sort_records(key_bits_t<Key> flip, const record<Key, Value>* items, std::size_t size,
                  record<Key, Value>* scratch, Key* keys, Value* values, bool past_caches) {
    if (size == 0) return;
    const auto* const sorted = sort_from(flip, items, size, scratch, scratch + size);
    if (past_caches) {
        part_records<true>(sorted, size, keys, values);
        hwy::FlushStream();
    } else {
        part_records<false>(sorted, size, keys, values);
    }
}

template <class Key, class Value>
void sort_in_cache(key_bits_t<Key> flip, Key* keys, Value* values, std::size_t size,
                   record<Key, Value>* scratch) {
    for (std::size_t i = 0; i < size; ++i) scratch[i] = record_at(keys, values, i);
    if (size <= max_by_insertion)
        insertion_sort([flip](Key key) { return position_of(key, flip); }, scratch, size);
    else
        sort_from(flip, scratch, size, scratch + size, scratch);
    part_records<false>(scratch, size, keys, values);
}

template <class Key, class Value>
void fill(kernels<Key, Value>& k) {
    k = {count<Key, Value>, scatter<Key, Value>, sort_records<Key, Value>, sort_in_cache<Key, Value>};
}

void fill_all(all_kernels& all) {
    std::apply([](auto&... each) { (fill(each), ...); }, all);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives::radix
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::primitives::radix {

HWY_EXPORT(fill_all);

template <class Key, class Value>
const kernels<Key, Value>& kernels_for() {
    static const all_kernels all = [] {
        all_kernels chosen;
        HWY_DYNAMIC_DISPATCH(fill_all)(chosen);
        return chosen;
    }();
    return std::get<kernels<Key, Value>>(all);
}

#define QUERN_KERNELS(Key)                                                         \
    template const kernels<Key, nothing>& kernels_for<Key, nothing>();             \
    template const kernels<Key, std::uint32_t>& kernels_for<Key, std::uint32_t>(); \
    template const kernels<Key, std::uint64_t>& kernels_for<Key, std::uint64_t>();
QUERN_KERNELS(std::uint32_t)
QUERN_KERNELS(float)
QUERN_KERNELS(std::uint64_t)
QUERN_KERNELS(double)
#undef QUERN_KERNELS

}  // namespace quern::primitives::radix
#endif
