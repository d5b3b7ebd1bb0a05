// SPDX-License-Identifier: Apache-2.0
// Ids as read → nodes 0, 1, 2 … by rising id.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/cpu_place.hpp"
#include "device/cpu/parallel.hpp"
#include "io/graph/named_graph.hpp"
#include "io/lines/link_block.hpp"
#include "io/lines/node_id_table.hpp"

namespace quern::io {

/// Links [begin, end) have ids of one kind.
struct id_range {
    std::uint64_t begin = 0, end = 0;
    id_kind kind = id_kind::narrow;
    const integer_table* integers = nullptr;
    const word_table* words = nullptr;
};

struct ids_read {
    std::vector<id_range> ranges;                          ///< of all links, in order
    std::uint32_t least = ~std::uint32_t{0}, largest = 0;  ///< of narrow ids
    std::vector<const integer_table*> integers;
    std::vector<const word_table*> words;
};

/// Maximum number of nodes of a graph.
inline constexpr std::uint64_t max_nodes = 0xfffffffd;

/// Replaces ids in `links` by nodes. Throws invalid_input, naming `input`, for more than max_nodes, and out_of_memory.
///
/// Additional memory: two bits for each integer from the smallest id to the largest, if these take no more than the
/// links' own bytes; otherwise up to 24 bytes a link. For names and integers beyond 32 bits, 36 bytes for each that a
/// thread saw.
node_names number_nodes(cpu_place& place, std::span<link> links, const ids_read& ids, std::string_view input);

/// Parallel sorting by any order: a sample defines buckets, items move there, one thread sorts each bucket. Equal items
/// are in one bucket.
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
sorted_items<Item> sort_items(cpu_place& place, std::span<const Item> items, const Less& less) {
    constexpr std::size_t min_piece = std::size_t{1} << 14, sampled_for_each = 32;
    const std::size_t pieces = pieces_for(place, items.size(), min_piece, 8);
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

    sorted_items<Item> sorted{cpu_array<Item>(place, items.size(), "sorting the ids of a graph"),
                              std::vector<std::uint64_t>(pieces + 1)};
    std::vector<std::uint64_t> at(pieces * pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
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
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(items.size(), pieces, p);
        std::vector<std::uint64_t> next(at.begin() + static_cast<std::ptrdiff_t>(p * pieces),
                                        at.begin() + static_cast<std::ptrdiff_t>((p + 1) * pieces));
        for (std::size_t i = begin; i < end; ++i) sorted.items.data()[next[bucket_of(items[i])]++] = items[i];
    });
    for_each_piece(place, pieces, [&](std::size_t b) {
        const std::span<Item> bucket = sorted.bucket(b);
        std::sort(bucket.begin(), bucket.end(), less);
    });
    return sorted;
}

}  // namespace quern::io
