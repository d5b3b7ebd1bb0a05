// SPDX-License-Identifier: Apache-2.0
// Stable sort of keys with values in the host's memory, by several places: each copies an equal part and sorts it; then each
// gets one range of the keys from all, merges them, and copies them to their places. Key ranges are cut by a sample (sample
// sort: Frazer and McKellar 1970). Equal keys are in one range, and runs are merged in the order of the parts, so the result
// is that of sort.hpp, the same bits for any number of places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "device/between_places.hpp"
#include "device/place_set.hpp"
#include "primitives/keys.hpp"
#include "primitives/merge/merge.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/sort/sort_cpu.hpp"

namespace quern::primitives {

/// Sorted pairs on one place, cut into the ranges of keys: range q is [cuts[q], cuts[q + 1]).
template <class Place, class Key, class Value>
struct sorted_part {
    array_on<Place, Key> keys;
    array_on<Place, Value> values;
    std::vector<std::uint64_t> cuts;
};

/// The first keys of all ranges but the first, as ordered bits: quantiles of keys at equal distances.
template <class Key>
std::vector<key_bits_t<Key>> range_begins(std::span<const Key> keys, std::size_t ranges, order direction) {
    constexpr std::size_t samples_of_range = 1024;
    const std::size_t count = std::min(keys.size(), samples_of_range * ranges);
    std::vector<key_bits_t<Key>> sample(count), begins;
    for (std::size_t i = 0; i < count; ++i)
        sample[i] = ordered_bits(keys[keys.size() / count * i], direction);
    std::ranges::sort(sample);
    for (std::size_t q = 1; q < ranges; ++q) begins.push_back(count == 0 ? 0 : sample[count * q / ranges]);
    return begins;
}

/// The number of sorted keys before `bits`. One transfer for each step of a binary search.
template <class Key, class Place>
std::uint64_t keys_before(Place& place, span_on<Place, const Key> keys, key_bits_t<Key> bits,
                          order direction) {
    std::uint64_t begin = 0, end = keys.size();
    while (begin < end) {
        const std::uint64_t middle = begin + (end - begin) / 2;
        Key key{};
        copy_out<Key>(place, keys.subspan(middle, 1), std::span(&key, 1));
        (ordered_bits(key, direction) < bits ? begin : end) =
            ordered_bits(key, direction) < bits ? middle + 1 : middle;
    }
    return begin;
}

/// As sort_pairs(), in place. Throws usage_error if the sizes differ, invalid_value for the first NaN, and out_of_memory: a place needs
/// three times its part, more where one key is very frequent. The input is as it was then. Synchronises.
template <sortable_key Key, payload Value>
void sort_pairs(place_set& places, std::span<Key> keys, std::span<Value> values,
                order direction = order::ascending) {
    check_copy(keys.size(), values.size());
    const std::size_t count = places.size();
    places[0].visit([&]<class Place>(Place&, cpu_place& host) {
        radix::refuse_not_a_number<Key>(host, keys);
        const auto begins = range_begins<Key>(keys, count, direction);
        const auto on_each = [&](const auto& work) {
            places.on_each([&]<class Here>(Here& here, cpu_place&, std::size_t index) {
                if constexpr (std::is_same_v<Here, Place>) work(here, index);  // all are of one type
            });
        };
        std::vector<Place*> all(count);
        std::vector<sorted_part<Place, Key, Value>> parts(count), received(count);
        on_each([&](Place& here, std::size_t index) {
            all[index] = &here;
            const std::size_t begin = keys.size() / count * index;
            const std::size_t end = index + 1 == count ? keys.size() : keys.size() / count * (index + 1);
            auto& part = parts[index];
            part.keys = array_from<Place, Key>(here, keys.subspan(begin, end - begin), "keys to sort");
            part.values =
                array_from<Place, Value>(here, values.subspan(begin, end - begin), "values to sort");
            sort_pairs(here, part.keys.span(), part.values.span(), {.direction = direction});
            part.cuts.push_back(0);
            for (const auto bits : begins)
                part.cuts.push_back(
                    keys_before<Key>(here, span_on<Place, const Key>(part.keys.span()), bits, direction));
            part.cuts.push_back(end - begin);
        });
        // Of the ranges: the runs in each, by their ends, and where it begins among all keys.
        std::vector<std::uint64_t> first(count + 1);
        for (std::size_t q = 0; q < count; ++q) {
            auto& runs = received[q].cuts = {0};
            for (const auto& part : parts) runs.push_back(runs.back() + part.cuts[q + 1] - part.cuts[q]);
            first[q + 1] = first[q] + runs.back();
        }
        on_each([&](Place& here, std::size_t q) {
            received[q].keys = make_array<Key>(here, received[q].cuts.back(), "a range of keys");
            received[q].values =
                make_array<Value>(here, received[q].cuts.back(), "values of a range of keys");
        });
        for (std::size_t from = 0; from < count; ++from)
            for (std::size_t to = 0; to < count; ++to)
                if (from != to) open_for(*all[from], *all[to], received[to].keys.span());
        on_each([&](Place& here, std::size_t index) {
            const auto& part = parts[index];
            for (std::size_t q = 0; q < count; ++q) {
                const std::uint64_t size = part.cuts[q + 1] - part.cuts[q], at = received[q].cuts[index];
                copy_across<Key>(here, part.keys.span().subspan(part.cuts[q], size), *all[q],
                                 received[q].keys.span().subspan(at, size));
                copy_across<Value>(here, part.values.span().subspan(part.cuts[q], size), *all[q],
                                   received[q].values.span().subspan(at, size));
            }
        });
        // Nothing is copied out before all ranges are merged: a place without memory leaves the input as it was.
        std::vector<sorted_part<Place, Key, Value>> merged(count);
        on_each([&](Place& here, std::size_t q) {
            parts[q] = {};
            const std::uint64_t size = received[q].cuts.back();
            merged[q].keys = make_array<Key>(here, size, "merged keys");
            merged[q].values = make_array<Value>(here, size, "values of merged keys");
            merge_pairs<Key, Value>(here, received[q].keys.span(), received[q].values.span(),
                                    received[q].cuts, merged[q].keys.span(), merged[q].values.span(),
                                    direction);
            received[q] = {};
        });
        on_each([&](Place& here, std::size_t q) {
            const std::uint64_t size = merged[q].keys.size();
            copy_out<Key>(here, merged[q].keys.span(), keys.subspan(first[q], size));
            copy_out<Value>(here, merged[q].values.span(), values.subspan(first[q], size));
            merged[q] = {};
        });
    });
}

}  // namespace quern::primitives
