// SPDX-License-Identifier: Apache-2.0
// The output of Wang's (2015) two kernels: tiles of numerators, of every pair of words once. They become scores on the
// device, which keeps the best of each word (the thesis returns every tile and keeps heaps on the host).
#pragma once

#include <cstdint>

#include "device/array.hpp"
#include "device/cuda/cuda_place.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"
#include "ops/word_similarity/exact/row_groups.cuh"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

/// The memory limit of tiles of results with their transpose, and the words of one tile: `requested` bytes (0: 300 MB, as in
/// the thesis), at most a sixteenth of the place's memory.
std::uint64_t tile_bytes_for(cuda_place& place, std::uint64_t requested);
std::uint32_t tile_words_for(std::uint64_t tile_bytes);

class result_tiles {
  public:
    /// Tiles of at most `words` by `words`.
    result_tiles(cuda_place& place, const fixed_rows& rows, const similarity_options& options,
                 std::uint32_t words);

    /// The destination of a tile: sums()[a · count of b + b], all of it; a tile with itself needs only b > a.
    std::uint64_t* sums() const { return sums_.data(); }
    /// Takes the tile of the words a with the words b. For each word, the others must arrive in ascending order.
    void keep(word_range a, word_range b);
    /// The lists of all words.
    neighbour_lists lists();

  private:
    void fold(const double* scores, word_range words, word_range others);

    cuda_place* place_;
    similarity_measure measure_;
    std::uint32_t words_, top_;
    cuda_array<std::uint64_t> norms_, sums_;
    cuda_array<double> transposed_, best_scores_;
    cuda_array<std::uint32_t> best_ids_;
};

}  // namespace quern::word_similarity_detail
