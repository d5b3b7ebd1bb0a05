// SPDX-License-Identifier: Apache-2.0
// Shared by whole and segmented sorting on the CPU.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>

#include "device/cpu/parallel.hpp"
#include "device/fault.hpp"
#include "primitives/first_position.hpp"
#include "primitives/keys.hpp"
#include "primitives/sort/radix_kernels.hpp"

namespace quern::primitives::radix {

/// The kernels' type for a key: signed integers are the unsigned of their width, adjusted by flip_of.
template <class Key>
using kernel_key = std::conditional_t<std::is_floating_point_v<Key>, Key, key_bits_t<Key>>;

template <class Key>
std::span<kernel_key<Key>> kernel_keys(std::span<Key> keys) {
    return {reinterpret_cast<kernel_key<Key>*>(keys.data()), keys.size()};
}

template <class Key>
constexpr key_bits_t<Key> flip_of(order direction) {
    const key_bits_t<Key> rising = std::is_unsigned_v<Key> ? 0 : top_bit<key_bits_t<Key>>;
    return direction == order::ascending ? rising : ~rising;
}

/// The position of the first NaN in `keys`, or keys.size().
template <class Key>
std::size_t first_not_a_number(std::span<const Key> keys) {
    constexpr std::size_t at_once = 1024;
    if constexpr (floating_value<Key>) {
        for (std::size_t begin = 0; begin < keys.size(); begin += at_once) {
            const std::size_t end = std::min(begin + at_once, keys.size());
            bool found = false;  // one test for many, so that the loop is vectorised
            for (std::size_t i = begin; i < end; ++i) found |= is_not_a_number(keys[i]);
            if (!found) continue;
            std::size_t i = begin;
            while (!is_not_a_number(keys[i])) ++i;
            return i;
        }
    }
    return keys.size();
}

/// Throws for the first NaN in `keys`.
template <class Key>
void refuse_not_a_number(cpu_place& place, std::span<const Key> keys) {
    if constexpr (floating_value<Key>) {
        constexpr std::size_t piece_size = std::size_t{1} << 18;
        first_position nan;
        const std::size_t pieces = (keys.size() + piece_size - 1) / piece_size;
        for_each_piece(place, pieces, [&](std::size_t p) {
            const std::size_t begin = p * piece_size, size = std::min(piece_size, keys.size() - begin);
            const std::size_t found = first_not_a_number(keys.subspan(begin, size));
            if (found != size) nan.note(begin + found);
        });
        nan.throw_if_any(fault::key_not_a_number);
    }
}

/// Sorts any number of keys, and values[i] with keys[i] unless Value is nothing. Rejects NaN before anything is moved,
/// unless that was checked already.
template <class Key, class Value>
void sort_whole(cpu_place& place, std::span<Key> keys, Value* values, key_bits_t<Key> flip, bool checked);

}  // namespace quern::primitives::radix
