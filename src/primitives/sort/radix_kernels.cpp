// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. Vectors find the bucket of each key, watch for
// not-a-number and move whole lines; counting and placing are scalar, a store for each key.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>

// The steps between these four bring nothing to these loops and would cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/sort/radix_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "primitives/sort/radix_kernels.hpp"

#ifndef QUERN_RADIX_KERNELS_ONCE
#define QUERN_RADIX_KERNELS_ONCE
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

// place_of, lane by lane.
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

/// The buckets of up to block_size keys; whether one is not a number, where that is asked.
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
        buckets[i] = static_cast<bits>(map.bucket_of(place_of(keys[i], flip)));
    }
    return refused;
}

template <class Key, class Value>
bool count(const bucket_map<key_bits_t<Key>>& map, key_bits_t<Key> flip, const Key* keys, std::size_t size,
           std::uint32_t* counts) {
    alignas(64) key_bits_t<Key> buckets[block_size];
    // Two tables, so that equal neighbours do not wait for each other.
    alignas(64) std::uint32_t odd[bucket_map<key_bits_t<Key>>::most_buckets] = {};
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
    std::uint64_t first[bucket_map<key_bits_t<Key>>::most_buckets];
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

template <class Key, class Value>
HWY_INLINE void put(const record<Key, Value>& r, Key* keys, Value* values, std::size_t i) {
    keys[i] = r.key;
    if constexpr (!std::is_same_v<Value, nothing>) values[i] = r.value;
}

/// values + i, where there are values.
template <class Value>
HWY_INLINE Value* behind(Value* values, std::size_t i) {
    return std::is_same_v<Value, nothing> ? values : values + i;
}

template <class Key, class Value>
void insertion_sort(key_bits_t<Key> flip, Key* keys, Value* values, std::size_t size) {
    for (std::size_t i = 1; i < size; ++i) {
        const record<Key, Value> moving = record_at(keys, values, i);
        const auto place = place_of(moving.key, flip);
        std::size_t hole = i;
        for (; hole > 0 && place < place_of(keys[hole - 1], flip); --hole)
            put(record_at(keys, values, hole - 1), keys, values, hole);
        put(moving, keys, values, hole);
    }
}

constexpr std::size_t most_by_insertion = 24;
constexpr unsigned most_digit_bits = 12;

/// A digit: the bits [shift, shift + width) of a place.
struct digit {
    unsigned shift, width;
    template <class Bits>
    HWY_INLINE std::size_t of(Bits place) const {
        return static_cast<std::size_t>(place >> shift) & ((std::size_t{1} << width) - 1);
    }
};

/// Counts to the first position of each digit's value.
HWY_INLINE void to_positions(std::uint32_t* counts, unsigned width) {
    std::uint32_t sum = 0;
    for (std::size_t v = 0; v < std::size_t{1} << width; ++v) {
        const std::uint32_t here = counts[v];
        counts[v] = sum;
        sum += here;
    }
}

template <class Key, class Value>
void sort_small(key_bits_t<Key> flip, Key* keys, Value* values, std::size_t size, record<Key, Value>* items,
                record<Key, Value>* scratch);

/// Keys sorted by the bits from `sorted_from` on, and by what was before among equals: sorts what is left.
template <class Key, class Value, class PlaceOf>
HWY_NOINLINE void finish(key_bits_t<Key> flip, const PlaceOf& place, Key* keys, Value* values,
                         std::size_t size, unsigned sorted_from, record<Key, Value>* items,
                         record<Key, Value>* scratch) {
    const lanes_of<Key> d;
    const auto flips = hn::Set(d, flip);
    std::size_t i = 0;
    const auto settle = [&](std::size_t wrong) {  // keys[wrong] belongs behind its neighbour
        const auto group = place(keys[wrong]) >> sorted_from;
        std::size_t begin = wrong, end = wrong + 2;
        while (begin > 0 && place(keys[begin - 1]) >> sorted_from == group) --begin;
        while (end < size && place(keys[end]) >> sorted_from == group) ++end;
        sort_small<Key, Value>(flip, keys + begin, behind(values, begin), end - begin, items, scratch);
        return end;
    };
    while (i + 1 < size) {
        while (i + 1 + hn::Lanes(d) <= size &&
               hn::AllFalse(d, hn::Lt(places_of<Key>(load_stored(keys + i + 1), flips),
                                      places_of<Key>(load_stored(keys + i), flips))))
            i += hn::Lanes(d);
        const std::size_t look = std::min(size - 1, i + hn::Lanes(d));
        while (i < look && place(keys[i]) <= place(keys[i + 1])) ++i;
        if (i < look) i = settle(i);
    }
}

/// `varying` has the bits in which places differ, `one` is any of them.
template <class Key, class Value, class PlaceOf>
HWY_INLINE void sort_by_digits(key_bits_t<Key> flip, key_bits_t<Key> varying, const PlaceOf& place,
                               record<Key, Value>* items, std::size_t size, record<Key, Value>* scratch,
                               Key* keys, Value* values) {
    const auto top = static_cast<unsigned>(std::bit_width(varying));
    const auto lowest = static_cast<unsigned>(std::countr_zero(varying));
    const auto size_bits = static_cast<unsigned>(std::bit_width(size));
    // So many leading bits tell all but a few of random keys apart; finish() does the rest.
    const unsigned wanted = std::min(top - lowest, size_bits + 5);
    const unsigned widest = std::clamp(size_bits, 6u, most_digit_bits);
    alignas(64) std::uint32_t low_counts[std::size_t{1} << most_digit_bits];
    alignas(64) std::uint32_t high_counts[std::size_t{1} << most_digit_bits];
    if (wanted <= widest) {
        const digit only{top - wanted, wanted};
        std::memset(low_counts, 0, sizeof(std::uint32_t) << wanted);
        for (std::size_t i = 0; i < size; ++i) ++low_counts[only.of(place(items[i].key))];
        to_positions(low_counts, wanted);
        for (std::size_t i = 0; i < size; ++i)
            put(items[i], keys, values, low_counts[only.of(place(items[i].key))]++);
        if (top - wanted > lowest) finish(flip, place, keys, values, size, top - wanted, items, scratch);
        return;
    }
    const unsigned low_width = wanted / 2, high_width = wanted - low_width;
    const digit low{top - wanted, low_width}, high{top - high_width, high_width};
    std::memset(low_counts, 0, sizeof(std::uint32_t) << low_width);
    std::memset(high_counts, 0, sizeof(std::uint32_t) << high_width);
    for (std::size_t i = 0; i < size; ++i) {
        const auto p = place(items[i].key);
        ++low_counts[low.of(p)];
        ++high_counts[high.of(p)];
    }
    to_positions(low_counts, low_width);
    to_positions(high_counts, high_width);
    for (std::size_t i = 0; i < size; ++i) scratch[low_counts[low.of(place(items[i].key))]++] = items[i];
    for (std::size_t i = 0; i < size; ++i)
        put(scratch[i], keys, values, high_counts[high.of(place(scratch[i].key))]++);
    if (top - wanted > lowest) finish(flip, place, keys, values, size, top - wanted, items, scratch);
}

template <class Key, class Value>
void sort_records(key_bits_t<Key> flip, record<Key, Value>* items, std::size_t size,
                  record<Key, Value>* scratch, Key* keys, Value* values) {
    using bits = key_bits_t<Key>;
    if (size == 0) return;
    const auto first = std::bit_cast<bits>(items[0].key);
    bits differing = 0;
    for (std::size_t i = 0; i < size; ++i) differing |= std::bit_cast<bits>(items[i].key) ^ first;
    if (differing == 0) {
        for (std::size_t i = 0; i < size; ++i) put(items[i], keys, values, i);
        return;
    }
    if constexpr (std::is_floating_point_v<Key>) {
        if ((differing & top_bit<bits>) != 0) {  // both signs
            bits varying = 0;
            const bits place_of_first = place_of(items[0].key, flip);
            for (std::size_t i = 0; i < size; ++i) varying |= place_of(items[i].key, flip) ^ place_of_first;
            if (varying == 0) {  // zeros of both signs
                for (std::size_t i = 0; i < size; ++i) put(items[i], keys, values, i);
                return;
            }
            const auto place = [flip](Key key) { return place_of(key, flip); };
            sort_by_digits(flip, varying, place, items, size, scratch, keys, values);
            return;
        }
        // One sign: the order of the bits, or its reverse.
        const bits turned = (first & top_bit<bits>) != 0 ? ~flip : flip;
        const auto place = [turned](Key key) { return std::bit_cast<bits>(key) ^ turned; };
        sort_by_digits(flip, differing, place, items, size, scratch, keys, values);
    } else {
        const auto place = [flip](Key key) { return key ^ flip; };
        sort_by_digits(flip, differing, place, items, size, scratch, keys, values);
    }
}

template <class Key, class Value>
void sort_small(key_bits_t<Key> flip, Key* keys, Value* values, std::size_t size, record<Key, Value>* items,
                record<Key, Value>* scratch) {
    if (size <= most_by_insertion) return insertion_sort(flip, keys, values, size);
    for (std::size_t i = 0; i < size; ++i) items[i] = record_at(keys, values, i);
    sort_records(flip, items, size, scratch, keys, values);
}

template <class Key, class Value>
void sort_in_cache(key_bits_t<Key> flip, Key* keys, Value* values, std::size_t size,
                   record<Key, Value>* scratch) {
    sort_small(flip, keys, values, size, scratch, scratch + size);
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
