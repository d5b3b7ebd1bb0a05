// SPDX-License-Identifier: Apache-2.0
// The loops of the CPU's radix sort, compiled for several instruction sets; sort_cpu.cpp combines them. Keys are uint32,
// float, uint64 or double (signed integers as the unsigned of their width); `flip` is exclusive-or'ed to a key's place
// among all keys and encodes signedness and direction.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "primitives/keys.hpp"

namespace quern::primitives::radix {

/// Replaces the value if keys are sorted alone.
struct nothing {};

/// A key adjacent to its value: one store moves both, and they share a cache line.
template <class Key, class Value>
struct record {
    Key key;
    Value value;
};
template <class Key>
struct record<Key, nothing> {
    Key key;
};

/// A key's place in the requested order, as an unsigned number: smaller comes first.
template <class Key>
constexpr key_bits_t<Key> position_of(Key key, key_bits_t<Key> flip) {
    const auto stored = std::bit_cast<key_bits_t<Key>>(key);
    if constexpr (std::is_floating_point_v<Key>)
        return place_on_line(stored) ^ flip;
    else
        return stored ^ flip;
}

/// Divides the range of all places into buckets of about equal weight, in order: a cell by the leading bits of a place's
/// distance from the minimum, and in a crowded cell a bucket by the following bits. Places outside [least, greatest] go
/// where these go.
template <class Bits>
struct bucket_map {
    static constexpr unsigned cell_bits = 11;
    static constexpr std::size_t max_buckets = 4096;

    Bits least = 0, greatest = 0;
    unsigned cell_shift = 0;
    std::size_t buckets = 0;
    /// The cell's first bucket << 8 | the right shift of the bits below the cell's.
    std::array<Bits, std::size_t{1} << cell_bits> cells{};

    std::size_t bucket_of(Bits position) const {
        const Bits inside = position < least ? least : position > greatest ? greatest : position;
        const Bits distance = inside - least;
        const Bits cell = cells[static_cast<std::size_t>(distance >> cell_shift)];
        const Bits below = distance & ((Bits{1} << cell_shift) - 1);
        return static_cast<std::size_t>((cell >> 8) + (below >> (cell & 255)));
    }
};

/// One thread's memory to gather records into whole lines before they are written.
struct alignas(64) line {
    std::array<std::byte, 64> bytes;
};
template <class Key, class Value>
inline constexpr std::size_t records_together = sizeof(record<Key, Value>) == 4 ? 16 : 8;
template <class Key, class Value>
inline constexpr std::size_t lines_together = records_together<Key, Value> * sizeof(record<Key, Value>) / 64;

template <class Key, class Value>
struct kernels {
    using bits = key_bits_t<Key>;
    using item = record<Key, Value>;

    /// counts[b] += keys of bucket b. Returns whether a key is NaN (the counts are then undefined).
    bool (*count)(const bucket_map<bits>& map, bits flip, const Key* keys, std::size_t size,
                  std::uint32_t* counts);

    /// Moves keys and values to out[positions[b]++], where b is the bucket, through lines_together lines per bucket. `out`
    /// starts at a line. `past_caches`: with non-temporal stores.
    void (*scatter)(const bucket_map<bits>& map, bits flip, const Key* keys, const Value* values,
                    std::size_t size, std::uint64_t* positions, item* out, line* gathered, bool past_caches);

    /// Sorts `size` ≤ max_in_cache items into keys and values. `scratch` holds 2 · size items. `past_caches`: keys and
    /// values are written with non-temporal stores.
    void (*sort_records)(bits flip, const item* items, std::size_t size, item* scratch, Key* keys,
                         Value* values, bool past_caches);

    /// Sorts size ≤ max_in_cache keys and values in place. `scratch` holds 2 · size items.
    void (*sort_in_cache)(bits flip, Key* keys, Value* values, std::size_t size, item* scratch);
};

inline constexpr std::size_t max_in_cache = std::size_t{1} << 18;

/// The loops for the instruction set of this machine. Key: uint32, uint64, float, double. Value: nothing or a payload.
template <class Key, class Value>
const kernels<Key, Value>& kernels_for();

}  // namespace quern::primitives::radix
