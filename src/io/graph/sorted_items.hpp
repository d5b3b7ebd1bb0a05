// SPDX-License-Identifier: Apache-2.0
// Parallel sorting by any order: a sample defines buckets, items move there, one thread sorts each bucket. Equal items
// are in one bucket.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"

namespace quern::io {

template <class Item>
struct sorted_items {
    cpu_array<Item> items;
    std::vector<std::uint64_t> bounds;  ///< of the buckets, rising; one more than buckets

    std::size_t buckets() const { return bounds.size() - 1; }
    std::span<Item> bucket(std::size_t b) const {
        return items.span().subspan(bounds[b], bounds[b + 1] - bounds[b]);
    }
};

/// `less` is a total order except for items that the caller treats as equal. Needs additional memory of the items'
/// size.
template <class Item, class Less>
sorted_items<Item> sort_items(cpu_place& position_block, std::span<const Item> items, const Less& less) {
    constexpr std::size_t min_piece = std::size_t{1} << 14, sampled_for_each = 32;
    const std::size_t pieces = pieces_for(position_block, items.size(), min_piece, 8);
    std::vector<Item> sample;
    for (std::size_t s = 0; pieces > 1 && s < pieces * sampled_for_each; ++s)
        sample.push_back(items[piece_of(items.size(), pieces * sampled_for_each, s).begin]);
    std::sort(sample.begin(), sample.end(), less);
    std::vector<Item> splitters;
    for (std::size_t b = 1; b < pieces; ++b) splitters.push_back(sample[b * sampled_for_each]);
    const auto bucket_of = [&](const Item& item) {
        return static_cast<std::size_t>(std::upper_bound(splitters.begin(), splitters.end(), item, less) -
                                        splitters.begin());
    };

    sorted_items<Item> sorted{cpu_array<Item>(position_block, items.size(), "sorting the ids of a graph"),
                              std::vector<std::uint64_t>(pieces + 1)};
    std::vector<std::uint64_t> at(pieces * pieces);
    for_each_piece(position_block, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(items.size(), pieces, p);
        std::vector<std::uint64_t> counts(pieces);
        for (std::size_t i = begin; i < end; ++i) ++counts[bucket_of(items[i])];
        std::copy(counts.begin(), counts.end(), at.begin() + static_cast<std::ptrdiff_t>(p * pieces));
    });
    std::uint64_t sum = 0;
    for (std::size_t b = 0; b < pieces; ++b) {
        sorted.bounds[b] = sum;
        for (std::size_t p = 0; p < pieces; ++p) sum += std::exchange(at[p * pieces + b], sum);
    }
    sorted.bounds[pieces] = sum;
    for_each_piece(position_block, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(items.size(), pieces, p);
        std::vector<std::uint64_t> next(at.begin() + static_cast<std::ptrdiff_t>(p * pieces),
                                        at.begin() + static_cast<std::ptrdiff_t>((p + 1) * pieces));
        for (std::size_t i = begin; i < end; ++i) sorted.items.data()[next[bucket_of(items[i])]++] = items[i];
    });
    for_each_piece(position_block, pieces, [&](std::size_t b) {
        const std::span<Item> bucket = sorted.bucket(b);
        std::sort(bucket.begin(), bucket.end(), less);
    });
    return sorted;
}

}  // namespace quern::io
