// SPDX-License-Identifier: Apache-2.0
// The loops of the CPU's radix sort, compiled for several instruction sets. See sort_cpu.cpp for how they are put
// together. Keys come as uint32, float, uint64 or double (signed integers as the unsigned of their width); `flip` is
// exclusive-or'ed to a key's place among all keys and says the rest: signedness and direction.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "primitives/keys.hpp"

namespace quern::primitives::radix {

/// In the place of a value where keys are sorted alone.
struct nothing {};

/// A key with its value, side by side: one store moves both, and they share a cache line.
template <class Key, class Value>
struct record {
    Key key;
    Value value;
};
template <class Key>
struct record<Key, nothing> {
    Key key;
};

/// A key's place in the order that is asked for, as an unsigned number: what comes first has the smaller one.
template <class Key>
constexpr key_bits_t<Key> place_of(Key key, key_bits_t<Key> flip) {
    const auto stored = std::bit_cast<key_bits_t<Key>>(key);
    if constexpr (std::is_floating_point_v<Key>)
        return place_on_line(stored) ^ flip;
    else
        return stored ^ flip;
}

/// Cuts the line of all places into buckets of about equal weight, in order: a cell by the leading bits of a
/// place's distance from the least, and in a crowded cell a bucket by the bits that follow. Places outside
/// [least, greatest] go where these go.
template <class Bits>
struct bucket_map {
    static constexpr unsigned cell_bits = 11;
    static constexpr std::size_t most_buckets = 4096;

    Bits least = 0, greatest = 0;
    unsigned cell_shift = 0;
    std::size_t buckets = 0;
    /// The cell's first bucket << 8 | how far the bits below the cell's are shifted down.
    std::array<Bits, std::size_t{1} << cell_bits> cells{};

    std::size_t bucket_of(Bits place) const {
        const Bits inside = place < least ? least : place > greatest ? greatest : place;
        const Bits distance = inside - least;
        const Bits cell = cells[static_cast<std::size_t>(distance >> cell_shift)];
        const Bits below = distance & ((Bits{1} << cell_shift) - 1);
        return static_cast<std::size_t>((cell >> 8) + (below >> (cell & 255)));
    }
};

/// One thread's memory for gathering records into whole lines before they go out.
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

    /// counts[b] += keys of bucket b. Whether a key is not a number (the counts are then worth nothing).
    bool (*count)(const bucket_map<bits>& map, bits flip, const Key* keys, std::size_t size,
                  std::uint32_t* counts);

    /// Moves keys and values to out[positions[b]++], b being the bucket, through lines_together lines a bucket.
    /// `out` begins at a line. `past_caches`: with stores that go around the caches.
    void (*scatter)(const bucket_map<bits>& map, bits flip, const Key* keys, const Value* values,
                    std::size_t size, std::uint64_t* positions, item* out, line* gathered, bool past_caches);

    /// Sorts `size` ≤ most_in_cache items into keys and values. `scratch` holds 2 · size items. `past_caches`: keys
    /// and values are written around the caches.
    void (*sort_records)(bits flip, const item* items, std::size_t size, item* scratch, Key* keys,
                         Value* values, bool past_caches);

    /// Sorts size ≤ most_in_cache keys and values in place. `scratch` holds 2 · size items.
    void (*sort_in_cache)(bits flip, Key* keys, Value* values, std::size_t size, item* scratch);
};

inline constexpr std::size_t most_in_cache = std::size_t{1} << 18;

/// Those for the instruction set of this machine. Key: uint32, uint64, float, double. Value: nothing or a payload.
template <class Key, class Value>
const kernels<Key, Value>& kernels_for();

}  // namespace quern::primitives::radix
