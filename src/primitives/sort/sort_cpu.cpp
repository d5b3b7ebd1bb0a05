// SPDX-License-Identifier: Apache-2.0
// Sorting on the CPU: a stable radix sort from the least digit, eight bits a pass, digits that never change skipped.
#include <algorithm>
#include <array>
#include <atomic>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/fault.hpp"
#include "primitives/doors.hpp"
#include "primitives/keys.hpp"
#include "primitives/segments.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::primitives {
namespace {

struct nothing {};

constexpr std::size_t radix = 256;
constexpr std::size_t piece_size = std::size_t{1} << 16;

template <class Key>
void refuse_not_a_number(cpu_place& place, std::span<const Key> keys) {
    if constexpr (floating_value<Key>) {
        std::atomic<std::size_t> first{keys.size()};
        const std::size_t pieces = (keys.size() + piece_size - 1) / piece_size;
        for_each_piece(place, pieces, [&](std::size_t p) {
            const std::size_t begin = p * piece_size, end = std::min(begin + piece_size, keys.size());
            std::size_t i = begin;
            while (i < end && !is_not_a_number(keys[i])) ++i;
            if (i == end) return;
            std::size_t before = first.load(std::memory_order_relaxed);
            while (i < before && !first.compare_exchange_weak(before, i, std::memory_order_relaxed)) {
            }
        });
        if (first < keys.size()) throw_fault(fault::key_not_a_number, first);
    }
}

template <class Key, class Value>
void sort_any(cpu_place& place, std::span<Key> keys, std::span<Value> values, order direction) {
    constexpr bool paired = !std::is_same_v<Value, nothing>;
    const std::size_t n = keys.size();
    if (n < 2) return;
    cpu_array<Key> other_keys(place, n, "sorting keys");
    cpu_array<Value> other_values(place, paired ? n : 0, "sorting values");
    Key *from = keys.data(), *to = other_keys.data();
    Value *from_values = values.data(), *to_values = other_values.data();
    const std::size_t pieces = pieces_for(place, n, piece_size);
    std::vector<std::array<std::size_t, radix>> counts(pieces);
    for (unsigned shift = 0; shift < 8 * sizeof(Key); shift += 8) {
        place.run().check_stop();
        const auto digit = [=](Key key) { return (ordered_bits(key, direction) >> shift) % radix; };
        for_each_piece(place, pieces, [&](std::size_t p) {
            counts[p].fill(0);
            const auto [begin, end] = piece_of(n, pieces, p);
            for (std::size_t i = begin; i < end; ++i) ++counts[p][digit(from[i])];
        });
        std::size_t sum = 0, greatest = 0;
        for (std::size_t d = 0; d < radix; ++d) {
            const std::size_t before = sum;
            for (auto& count : counts) sum += std::exchange(count[d], sum);
            greatest = std::max(greatest, sum - before);
        }
        if (greatest == n) continue;
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(n, pieces, p);
            for (std::size_t i = begin; i < end; ++i) {
                const std::size_t at = counts[p][digit(from[i])]++;
                to[at] = from[i];
                if constexpr (paired) to_values[at] = from_values[i];
            }
        });
        std::swap(from, to);
        std::swap(from_values, to_values);
    }
    if (from == keys.data()) return;
    std::copy(from, from + n, keys.data());
    if constexpr (paired) std::copy(from_values, from_values + n, values.data());
}

template <class Key, class Value>
void sort_segments(cpu_place& place, std::span<Key> keys, std::span<Value> values,
                   std::span<const std::uint64_t> offsets, order direction) {
    check_offsets(place, offsets, keys.size());
    refuse_not_a_number<Key>(place, keys);
    for (std::size_t s = 0; s < segments_in(offsets.size()); ++s) {
        const std::size_t begin = offsets[s], size = offsets[s + 1] - begin;
        sort_any(place, keys.subspan(begin, size), values.empty() ? values : values.subspan(begin, size),
                 direction);
    }
}

}  // namespace

template <sortable_key Key>
void sort_keys(cpu_place& place, std::span<Key> keys, sort_options options) {
    refuse_not_a_number<Key>(place, keys);
    sort_any(place, keys, std::span<nothing>(), options.direction);
}

template <sortable_key Key, payload Value>
void sort_pairs(cpu_place& place, std::span<Key> keys, std::span<Value> values, sort_options options) {
    check_same_size("sort_pairs", "values", values.size(), "keys", keys.size());
    refuse_not_a_number<Key>(place, keys);
    sort_any(place, keys, values, options.direction);
}

template <sortable_key Key>
void segmented_sort_keys(cpu_place& place, std::span<Key> keys, std::span<const std::uint64_t> offsets,
                         sort_options options) {
    sort_segments(place, keys, std::span<nothing>(), offsets, options.direction);
}

template <sortable_key Key, payload Value>
void segmented_sort_pairs(cpu_place& place, std::span<Key> keys, std::span<Value> values,
                          std::span<const std::uint64_t> offsets, sort_options options) {
    check_same_size("segmented_sort_pairs", "values", values.size(), "keys", keys.size());
    sort_segments(place, keys, values, offsets, options.direction);
}

#define QUERN_SORT_PAIRS(Key, Value)                                                      \
    template void sort_pairs(cpu_place&, std::span<Key>, std::span<Value>, sort_options); \
    template void segmented_sort_pairs(cpu_place&, std::span<Key>, std::span<Value>,      \
                                       std::span<const std::uint64_t>, sort_options);
#define QUERN_SORT(Key)                                                                           \
    template void sort_keys(cpu_place&, std::span<Key>, sort_options);                            \
    template void segmented_sort_keys(cpu_place&, std::span<Key>, std::span<const std::uint64_t>, \
                                      sort_options);                                              \
    QUERN_SORT_PAIRS(Key, std::uint32_t)                                                          \
    QUERN_SORT_PAIRS(Key, std::uint64_t)
QUERN_SORT(std::uint32_t)
QUERN_SORT(std::int32_t)
QUERN_SORT(std::uint64_t)
QUERN_SORT(std::int64_t)
QUERN_SORT(float)
QUERN_SORT(double)
#undef QUERN_SORT
#undef QUERN_SORT_PAIRS

}  // namespace quern::primitives
