// SPDX-License-Identifier: Apache-2.0
// The steps of method `automatic` on a GPU. For every word a, the sums of a with all words of a tile are in the shared
// memory of one block, in 32 bits and rounded up. They select candidates, which are scored exactly. docs/word_similarity.md
// has the bound and its proof.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

struct device_rows;  // pair_scores.cuh

/// Maximum words of a tile: their sums and the list of pieces fill a block's shared memory of 227 KiB.
inline constexpr std::uint32_t max_tile_words = 53'248;
/// The same on the place's device: fewer where a block may have less.
std::uint32_t tile_words(cuda_place& place);
/// Maximum neighbours for which a list of candidates is used.
inline constexpr std::uint32_t max_listed = 1024;
/// Capacity for the candidates of one word in one tile.
std::uint32_t candidate_capacity(std::uint32_t top);

/// How weights are rounded up to 16 bits, and the unit of a sum of 32 bits. lin: w → ⌈w · 2^bits⌉, sums count 2^-bits.
/// cosine: w → the smallest half-precision float not below w · 2^bits; a product of two of these counts in units of
/// 2^-product_bits, rounded up.
struct weight_codes {
    similarity_measure measure = similarity_measure::lin;
    int bits = 0, product_bits = 0;
    std::vector<float> norms;  ///< so that a sum over norm_a + norm_b (cosine: norm_a · norm_b) is a score
};
/// None if 32 bits cannot hold the sums of this matrix.
std::optional<weight_codes> choose_codes(cpu_place& host, const fixed_rows& rows, similarity_measure measure);

/// Words [first, first + count) with their weights by column. The list of column c is [offsets[c], offsets[c + 1]), a
/// multiple of four postings. Each is a code in its upper 16 bits and word - first in the lower; the last ones may be (0,
/// count), padding without a word. The order suits shared memory.
struct tile_postings {
    std::uint32_t first = 0, count = 0;
    cuda_array<std::uint32_t> postings, offsets;
};
/// Makes them for rows [from, from + count) of `rows`, whose entries are [first_entry, first_entry + entries).
tile_postings make_postings(cuda_place& place, const device_rows& rows, std::uint32_t from,
                            std::uint32_t count, std::uint64_t first_entry, std::uint64_t entries,
                            std::uint32_t columns, const weight_codes& codes);

/// The neighbours found so far of a group of words, on the device.
struct best_lists {
    best_lists(cuda_place& place, std::uint32_t words, std::uint32_t top);

    std::uint32_t top, capacity;
    cuda_array<double> scores;  ///< words × top, descending, then ids ascending
    cuda_array<std::uint32_t> ids;
    cuda_array<std::uint32_t> counts;
    cuda_array<float> floors;              ///< at most the last score of a full list; 0 for others
    cuda_array<std::uint32_t> candidates;  ///< words × room
    cuda_array<std::uint32_t> found;  ///< candidates of a word; more than `capacity`: all words of the tile
};

/// Writes the candidates of every row in the tile: every word whose score can be among the `top` best.
void choose_candidates(cuda_place& place, const device_rows& rows, const tile_postings& tile,
                       const weight_codes& codes, device_span<const float> norms, best_lists& best);

/// Scores the candidates exactly and keeps the best. `others` has the tile's rows; `norms` are exact, for all words.
void keep_best(cuda_place& place, const device_rows& rows, const device_rows& others,
               std::uint32_t tile_first, std::uint32_t tile_words, similarity_measure measure, double scale,
               device_span<const std::uint64_t> norms, best_lists& best);

/// scores[r · words + v] of rows [from, from + count) with every word v of `others`; 0 for a word with itself.
void score_all(cuda_place& place, const device_rows& rows, std::uint32_t from, std::uint32_t count,
               const device_rows& others, similarity_measure measure, double scale,
               device_span<const std::uint64_t> norms, std::uint32_t words, device_span<double> scores);

/// Appends lists of `top` each, descending, with only positive scores. Synchronises.
void append_positive(cuda_place& place, device_span<const double> scores,
                     device_span<const std::uint32_t> ids, std::uint32_t top, neighbour_lists& all);

}  // namespace quern::word_similarity_detail
