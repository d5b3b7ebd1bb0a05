// SPDX-License-Identifier: Apache-2.0
// For the .cu files of the signature join: its rows and tiles in device memory, and the filter that every pair of rows
// passes before its edit distance is computed. docs/near_duplicates_signature.md has the proofs.
#pragma once

#include <cstdint>

#include "device/cuda/check.cuh"
#include "ops/near_duplicates/papers/signatures/signature_join.hpp"

namespace quern::near_duplicates_detail {

using counter = unsigned long long;

// A row's sort key: segment, old or new, length. Lengths are below 2^10.
constexpr unsigned key_bits = 17;
constexpr std::uint32_t key_of(unsigned segment, bool is_new, unsigned length) {
    return (segment * 2 + (is_new ? 1 : 0)) << 10 | length;
}
constexpr unsigned length_in(std::uint32_t key) {
    return key & 1023;
}
constexpr bool is_new_in(std::uint32_t key) {
    return (key >> 10 & 1) != 0;
}
constexpr unsigned segment_in(std::uint32_t key) {
    return key >> 11;
}

/// Rows [first, last).
struct window {
    std::uint32_t first, last;
};

/// The strings of two signatures that may be near.
struct source_pair {
    std::uint32_t a, b;
};

/// What the kernels read, all in device memory.
struct join_data {
    const std::uint8_t* letters;
    const std::uint64_t* offsets;
    const std::int32_t* largest;  ///< signature_bounds::largest
    const std::int32_t* longest;  ///< signature_bounds::longest
    const std::uint32_t* keys;    ///< of the sorted rows
    const std::uint32_t* sources;
    std::uint32_t rows;
};

/// Rows that a block of the filter holds in registers.
constexpr unsigned group_rows = 256;
/// Groups whose tiles alternate, so that data read by one is still cached for the others.
constexpr unsigned band_groups = 8;
/// Tiles begin at multiples of it.
constexpr unsigned tile_alignment = 64;

/// The tiles: a group of rows with `columns` rows of the span of the group's windows. The groups, once for each kind of
/// window, are arranged in bands. Band b has `band_groups` times the tiles of its widest span, numbered from band_groups ·
/// starts[b] on; a narrower span has empty tiles at its end.
struct tile_list {
    const window* windows;        ///< [kind · rows + row]
    const window* spans;          ///< [kind · groups + group]
    const std::uint64_t* starts;  ///< of the bands
    std::uint32_t groups;         ///< rounded up to a multiple of band_groups
    std::uint32_t columns;        ///< a multiple of tile_alignment
};

/// The pairs that passed. `count` continues past `capacity`; the excess pairs are lost.
struct pair_queue {
    source_pair* pairs;
    counter* count;
    counter capacity;
};

/// The rows of a tile: those of the group that begins with `group` against [begin, end), within these windows.
struct tile_rows {
    const window* windows;
    std::uint32_t group, begin, end;
};

__device__ inline tile_rows rows_of(const join_data& data, const tile_list& tiles, std::uint64_t tile) {
    const std::uint64_t turn = tile / band_groups;
    std::uint32_t band = 0;  // the last one whose tiles begin at or before this
    for (std::uint32_t end = 2 * tiles.groups / band_groups; end - band > 1;) {
        const std::uint32_t middle = band + (end - band) / 2;
        if (tiles.starts[middle] <= turn)
            band = middle;
        else
            end = middle;
    }
    const std::uint32_t span = band * band_groups + static_cast<std::uint32_t>(tile % band_groups);
    const std::uint32_t kind = span / tiles.groups;
    const window whole = tiles.spans[span];
    const std::uint64_t begin = whole.first + (turn - tiles.starts[band]) * tiles.columns;
    const auto first = static_cast<std::uint32_t>(min(begin, std::uint64_t{whole.last}));
    return {tiles.windows + std::size_t{kind} * data.rows, (span - kind * tiles.groups) * group_rows, first,
            static_cast<std::uint32_t>(min(begin + tiles.columns, std::uint64_t{whole.last}))};
}

/// Pairs of texts, a << 32 | b.
struct found_pairs {
    std::uint64_t* pairs;
    counter* count;
};
/// Appends the pairs of the queue that are near, in any order. `longest`: the letters of a signature, at most.
void measure_pairs(cuda_place& place, const join_data& data, unsigned longest, const pair_queue& queue,
                   const found_pairs& found);

/// Appends to the queue, except two signatures at their own block sizes, which were compared in segment 0.
__device__ inline void append_pair(const join_data& data, const pair_queue& queue, std::uint32_t row,
                                   std::uint32_t other) {
    const source_pair pair{data.sources[row], data.sources[other]};
    if (segment_in(data.keys[row]) != 0 && ((pair.a | pair.b) & 1) == 0) return;
    const counter slot = atomicAdd(queue.count, counter{1});
    if (slot < queue.capacity) queue.pairs[slot] = pair;
}

/// Complements of codes: words 2 i and 2 i + 1 of quad q (four planes, 256 bits) of a row are [(q · padded + row) · 4 + i].
/// shortest[row / 32] is the minimum length of 32 rows.
struct coded_rows {
    uint2* missing;
    std::int32_t* lengths;
    std::int32_t* shortest;
    std::uint32_t padded;  ///< rows, rounded up to a multiple of a group
};

/// The filter of one join: its data per row, 36 bytes for strings of up to 128 letters, and its launches.
class row_filter {
  public:
    row_filter(cuda_place& place, const join_data& data, const signature_bounds& bounds);

    /// Appends every pair of these tiles that is in a window and may be near to the queue.
    void pass(const tile_list& tiles, std::uint64_t first, std::uint64_t count, const pair_queue& queue);

  private:
    cuda_place& place_;
    join_data data_;
    unsigned levels_;
    cuda_array<std::int32_t> lengths_;
    cuda_array<std::uint64_t> missing_;
    coded_rows rows_{};
};

}  // namespace quern::near_duplicates_detail
