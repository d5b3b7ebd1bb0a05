// SPDX-License-Identifier: Apache-2.0
// The definition of sorting, with the standard library and the language's own comparison of numbers (for which −0 = +0):
// the ground truth for every place.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "primitives/types.hpp"

namespace quern::reference {

/// The positions of keys in the order of a stable sort.
template <class Key>
std::vector<std::size_t> sorted_positions(std::span<const Key> keys, primitives::order direction) {
    std::vector<std::size_t> positions(keys.size());
    std::iota(positions.begin(), positions.end(), std::size_t{0});
    std::stable_sort(positions.begin(), positions.end(), [&](std::size_t a, std::size_t b) {
        return direction == primitives::order::ascending ? keys[a] < keys[b] : keys[a] > keys[b];
    });
    return positions;
}

/// values[positions[0]], values[positions[1]], …
template <class T>
std::vector<T> taken_in_order(std::span<const T> values, const std::vector<std::size_t>& positions) {
    std::vector<T> taken;
    taken.reserve(positions.size());
    for (const std::size_t p : positions) taken.push_back(values[p]);
    return taken;
}

template <class Key>
std::vector<Key> sorted_keys(const std::vector<Key>& keys, primitives::order direction) {
    return taken_in_order(std::span<const Key>(keys),
                          sorted_positions(std::span<const Key>(keys), direction));
}

template <class Key, class Value>
std::pair<std::vector<Key>, std::vector<Value>> sorted_pairs(const std::vector<Key>& keys,
                                                             const std::vector<Value>& values,
                                                             primitives::order direction) {
    const auto positions = sorted_positions(std::span<const Key>(keys), direction);
    return {taken_in_order(std::span<const Key>(keys), positions),
            taken_in_order(std::span<const Value>(values), positions)};
}

/// Each segment [offsets[s], offsets[s + 1]) by itself.
template <class Key, class Value>
std::pair<std::vector<Key>, std::vector<Value>> segments_sorted(std::vector<Key> keys,
                                                                std::vector<Value> values,
                                                                const std::vector<std::uint64_t>& offsets,
                                                                primitives::order direction) {
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        const auto begin = static_cast<std::ptrdiff_t>(offsets[s]);
        const auto end = static_cast<std::ptrdiff_t>(offsets[s + 1]);
        const std::vector<Key> some_keys(keys.begin() + begin, keys.begin() + end);
        const std::vector<Value> some_values(values.begin() + begin, values.begin() + end);
        const auto [k, v] = sorted_pairs(some_keys, some_values, direction);
        std::copy(k.begin(), k.end(), keys.begin() + begin);
        std::copy(v.begin(), v.end(), values.begin() + begin);
    }
    return {std::move(keys), std::move(values)};
}

/// As unsigned numbers, so that a comparison distinguishes −0 from +0.
template <class T>
std::vector<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>> stored_bits(
    const std::vector<T>& values) {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    std::vector<bits> all;
    all.reserve(values.size());
    for (const T value : values) all.push_back(std::bit_cast<bits>(value));
    return all;
}

}  // namespace quern::reference
