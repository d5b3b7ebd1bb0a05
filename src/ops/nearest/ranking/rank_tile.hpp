// SPDX-License-Identifier: Apache-2.0
// The exact ranking of one tile for some queries, in the place's memory: distances of all requested rows, then
//   all rows requested  a stable radix sort of (key, row), over the used key bits only
//   the first k         selection
//   within a radius     the rows within it are kept, then sorted or selected
//   `reduction`         the paper's: distances by its kernel, then everything is sorted, for any k
// On CUDA the first two and the last enqueue work and do not wait for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "ops/nearest/index/row_numbers.hpp"
#include "ops/nearest/index/tile.hpp"
#include "ops/nearest/ranking/bounded_distance.hpp"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/top_k/top_k.hpp"

namespace quern::nearest_detail {

struct ranking_method {
    vector_metric metric = vector_metric::l2;
    retrieval_method method = retrieval_method::automatic;
    unsigned key_bits = 64;  ///< no key has this bit or a higher one set
    bool values = false;     ///< keys of 64 bits are those of values (bounded_distance.hpp), for any method
};

template <class Place>
std::uint64_t requested_rows(const auto& tile, span_on<Place, const std::uint32_t> rows) {
    return rows.empty() ? tile.rows : rows.size();
}

/// The paper covers dense vectors in single precision. The rows of sparse ones, and values, are summed by the only method
/// there is.
template <class Key, class Place>
void keys_by_method(Place& place, const row_tile<Place>& tile, const row_tile<Place>& queries,
                    const ranking_method& how, span_on<Place, const std::uint32_t> rows,
                    span_on<Place, Key> keys) {
    if constexpr (sizeof(Key) == 8) {
        if (how.values) return value_keys(place, tile, queries, how.metric, rows, keys);
    }
    if (how.method == retrieval_method::reduction)
        reduction_keys<Key>(place, tile, queries, how.metric, rows, keys);
    else
        distance_keys<Key>(place, tile, queries, how.metric, rows, keys);
}
template <class Key, class Place>
void keys_by_method(Place& place, const sparse_tile<Place>& tile, const sparse_tile<Place>& queries,
                    const ranking_method& how, span_on<Place, const std::uint32_t> rows,
                    span_on<Place, Key> keys) {
    if constexpr (sizeof(Key) == 8)
        value_keys(place, tile, queries, how.metric, rows, keys);
    else
        distance_keys<Key>(place, tile, queries, how.metric, rows, keys);
}

/// From here on the whole place sorts one list; shorter ones are sorted together.
inline constexpr std::uint64_t sorted_alone_from = 1 << 16;

/// Sorts each of the lists of n pairs.
template <class Key, class Place>
void sort_lists(Place& place, std::uint64_t n, span_on<Place, Key> keys, span_on<Place, std::uint32_t> ids,
                unsigned key_bits) {
    const primitives::sort_options options{primitives::order::ascending,
                                           std::min<unsigned>(key_bits, 8 * sizeof(Key))};
    const std::uint64_t lists = n == 0 ? 0 : keys.size() / n;
    if (lists <= 1 || n >= sorted_alone_from) {
        for (std::uint64_t q = 0; q < lists; ++q)
            primitives::sort_pairs<Key, std::uint32_t>(place, keys.subspan(q * n, n), ids.subspan(q * n, n),
                                                       options);
        return;
    }
    std::vector<std::uint64_t> ends(lists + 1);
    for (std::uint64_t q = 0; q <= lists; ++q) ends[q] = q * n;
    const auto offsets = array_from(place, std::span<const std::uint64_t>(ends), "where rankings begin");
    primitives::segmented_sort_pairs<Key, std::uint32_t>(place, keys, ids, offsets.span(), options);
}

/// keys[q · k + j], ids[q · k + j]: the j-th best of the requested rows (no rows given: all), k = keys.size() /
/// queries.rows, at least 1 and at most the number of these rows. Equal keys by ascending row; `rows` ascends.
template <class Key, class Place, class Tile>
void rank_tile(Place& place, const Tile& tile, const Tile& queries, const ranking_method& how,
               span_on<Place, const std::uint32_t> rows, span_on<Place, Key> keys,
               span_on<Place, std::uint32_t> ids) {
    const std::uint64_t n = requested_rows<Place>(tile, rows), count = queries.rows, k = keys.size() / count;
    const auto rank_all = [&](span_on<Place, Key> all_keys, span_on<Place, std::uint32_t> all_ids) {
        keys_by_method<Key, Place>(place, tile, queries, how, rows, all_keys);
        number_rows(place, rows, count, all_ids);
        sort_lists<Key, Place>(place, n, all_keys, all_ids, how.key_bits);
    };
    if (k == n) return rank_all(keys, ids);
    const auto all_keys = make_array<Key>(place, count * n, "the distances of a tile");
    if (how.method == retrieval_method::reduction) {
        const auto all_ids = make_array<std::uint32_t>(place, count * n, "the rows of a tile");
        rank_all(all_keys.span(), all_ids.span());
        first_columns<Key>(place, all_keys.span(), n, k, keys);
        return first_columns<std::uint32_t>(place, all_ids.span(), n, k, ids);
    }
    keys_by_method<Key, Place>(place, tile, queries, how, rows, all_keys.span());
    if (count == 1)
        primitives::top_k<Key>(place, all_keys.span(), keys, ids, primitives::best::least);
    else
        primitives::batched_top_k<Key>(place, all_keys.span(), n, k, keys, ids, primitives::best::least);
    if (!rows.empty()) look_up_rows(place, rows, ids);
}

/// For one query: the first ones whose key is at most `limit`, up to the capacity of `keys`; returns their number.
/// Synchronises.
template <class Key, class Place, class Tile>
std::uint64_t rank_within(Place& place, const Tile& tile, const Tile& query, const ranking_method& how,
                          span_on<Place, const std::uint32_t> rows, Key limit, span_on<Place, Key> keys,
                          span_on<Place, std::uint32_t> ids) {
    const std::uint64_t n = requested_rows<Place>(tile, rows);
    const auto all_keys = make_array<Key>(place, n, "the distances of a tile");
    const auto found_keys = make_array<Key>(place, n, "the distances within a radius");
    const auto found_ids = make_array<std::uint32_t>(place, n, "the rows within a radius");
    std::uint64_t found = 0;
    {
        const auto flags = make_array<std::uint8_t>(place, n, "which rows are within a radius");
        keys_by_method<Key, Place>(place, tile, query, how, rows, all_keys.span());
        flag_within<Key>(place, all_keys.span(), limit, flags.span());
        found = primitives::compact<Key>(place, all_keys.span(), flags.span(), found_keys.span());
        primitives::compact_positions<std::uint32_t>(place, flags.span(), found_ids.span());
    }
    const std::uint64_t k = std::min<std::uint64_t>(found, keys.size());
    const auto near_keys = found_keys.span().first(found);
    const auto near_ids = found_ids.span().first(found);
    if (k == 0) return 0;
    // The kept rows ascend, so that the sort is by key and row; selection takes them as ids.
    if (k < found && how.method == retrieval_method::automatic) {
        primitives::top_k<Key>(place, near_keys, near_ids, keys.first(k), ids.first(k),
                               primitives::best::least);
    } else {
        sort_lists<Key, Place>(place, found, near_keys, near_ids, how.key_bits);
        first_columns<Key>(place, near_keys, found, k, keys.first(k));
        first_columns<std::uint32_t>(place, near_ids, found, k, ids.first(k));
    }
    if (!rows.empty()) look_up_rows(place, rows, ids.first(k));
    return k;
}

}  // namespace quern::nearest_detail
