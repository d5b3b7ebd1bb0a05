// SPDX-License-Identifier: Apache-2.0
// Exact splitting of sorted pieces by rank (multi-sequence selection): how much of each piece belongs to the first r of the
// stable merge of all.
//
// By bisection of the key's ordered bits: every step halves the range of the key of rank r and narrows the window of each
// piece to it, so that a piece is searched only where it still matters. Varman et al. (Merging multiple lists on
// hierarchical-memory multiprocessors, 1991) bisect positions. Bisecting keys needs no special cases for pieces of
// different length and ends at once if a key is on the cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "device/cpu/cpu_place.hpp"
#include "primitives/keys.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// Sorted pairs in one range of memory. Pieces of the same run follow each other and have consecutive parts of it; runs are
/// numbered in the output order of equal keys.
template <class Key, class Value>
struct sorted_piece {
    const Key* keys;
    const Value* values;
    std::size_t size;
    std::uint32_t run;
};

/// The number of keys of a sorted piece, searched in [begin, end), with bits of at most `limit`.
template <class Key>
std::size_t count_up_to(const Key* keys, std::size_t begin, std::size_t end, key_bits_t<Key> limit,
                        order direction) {
    while (begin < end) {
        const std::size_t middle = begin + (end - begin) / 2;
        const bool within = ordered_bits(keys[middle], direction) <= limit;
        begin = within ? middle + 1 : begin;
        end = within ? end : middle;
    }
    return begin;
}

/// Sets cut[p] to the number of pairs of piece p among the first `rank` (at most all) of the merged pieces. `capacity` has
/// capacity for twice as many numbers. O(pieces · (key bits + log size)).
template <class Key, class Value>
void split_by_rank(std::span<const sorted_piece<Key, Value>> pieces, std::uint64_t rank, order direction,
                   std::span<std::uint64_t> cut, std::span<std::uint64_t> capacity) {
    using bits = key_bits_t<Key>;
    // The searched key's bits are in [least, greatest]; [begins, ends) of each piece are the keys in there.
    bits least = ~bits{0}, greatest = 0;
    std::span<std::uint64_t> begins = cut, ends = capacity.first(pieces.size()),
                             found = capacity.last(pieces.size());
    std::uint64_t below = 0, up_to = 0;  // sums of begins and ends
    for (std::size_t p = 0; p < pieces.size(); ++p) {
        begins[p] = 0;
        up_to += ends[p] = pieces[p].size;
        if (pieces[p].size == 0) continue;
        least = std::min(least, ordered_bits(pieces[p].keys[0], direction));
        greatest = std::max(greatest, ordered_bits(pieces[p].keys[pieces[p].size - 1], direction));
    }
    while (below < rank && rank < up_to && least < greatest) {
        const bits middle = least + (greatest - least) / 2;
        std::uint64_t sum = 0;
        for (std::size_t p = 0; p < pieces.size(); ++p) {
            sum += found[p] = count_up_to(pieces[p].keys, begins[p], ends[p], middle, direction);
        }
        const bool enough = sum >= rank;
        std::swap(enough ? ends : begins, found);
        (enough ? greatest : least) = static_cast<bits>(enough ? middle : middle + 1);
        (enough ? up_to : below) = sum;
    }
    // The remaining range is one key, or all of it is included, or nothing: equal keys are taken from the first pieces.
    for (std::size_t p = 0; p < pieces.size(); ++p) {
        const std::uint64_t more = std::min(rank - below, ends[p] - begins[p]);
        const std::uint64_t end = begins[p] + more;
        below += more;
        found[p] = end;  // the cut may be any of the three by now
    }
    if (found.data() != cut.data()) std::copy(found.begin(), found.end(), cut.begin());
}

// The merge of the CPU place, for runs that may be in several pieces: merge_pairs is built on it, and the external sort
// calls it for the blocks it has read.

/// Merges the pieces, stable by run, and writes the pairs of ranks [first_rank, first_rank + out_keys.size()), which must
/// exist, to `out_keys` and `out_values` (unused for no_value). Compiled for every sortable_key with uint32, uint64 and
/// no_value. Takes merge_bytes_per_piece of memory for each piece and thread.
template <sortable_key Key, class Value>
void merge_pieces(cpu_place& place, std::span<const sorted_piece<Key, Value>> pieces,
                  std::uint64_t first_rank, std::span<Key> out_keys, Value* out_values, order direction);

inline constexpr std::size_t merge_bytes_per_piece = 320;

}  // namespace quern::primitives
