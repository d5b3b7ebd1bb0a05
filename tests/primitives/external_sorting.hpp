// SPDX-License-Identifier: Apache-2.0
// A whole external sort, for its tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "primitives/external_sort/external_sort.hpp"

namespace quern {

inline constexpr std::uint64_t kib = 1024, mib = 1024 * kib;
inline constexpr std::uint64_t any_memory = 0;  ///< the minimum memory of a sorter in tests

template <class Key, class Value>
struct sorted_stream {
    std::vector<Key> keys;
    std::vector<Value> values;
    primitives::external_sort_record record;
};

/// Pushes in chunks of 0 to `max_at_a_time` pairs.
template <class Place, class Key, class Value>
void push_ragged(primitives::external_sorter<Place, Key, Value>& sorter, const std::vector<Key>& keys,
                 const std::vector<Value>& values, std::size_t max_at_a_time) {
    std::mt19937_64 random(keys.size());
    for (std::size_t at = 0; at < keys.size();) {
        const std::size_t count = std::min<std::size_t>(random() % (max_at_a_time + 1), keys.size() - at);
        sorter.push(std::span(keys).subspan(at, count), std::span(values).subspan(at, count));
        at += count;
    }
}

template <class Place, class Key, class Value>
sorted_stream<Key, Value> sorted_by(Place& place, const std::vector<Key>& keys,
                                    const std::vector<Value>& values, std::uint64_t memory,
                                    primitives::sort_options options = {}) {
    primitives::external_sorter<Place, Key, Value> sorter(place, memory, options, any_memory);
    push_ragged(sorter, keys, values, 20'000);
    sorted_stream<Key, Value> got;
    sorter.finish([&](std::span<const Key> k, std::span<const Value> v) {
        got.keys.insert(got.keys.end(), k.begin(), k.end());
        got.values.insert(got.values.end(), v.begin(), v.end());
    });
    got.record = sorter.record();
    return got;
}

}  // namespace quern
