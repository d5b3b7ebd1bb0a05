// SPDX-License-Identifier: Apache-2.0
// similar_words() by several processes, on the CPU. The first computes what all of them need: the rows by length with their
// bounds, and the neighbours of each word within its own tile, whose scores are thresholds for all others. It cuts the other
// pairs, tiles with the rows after them, into shares of about equal work. So a process computes nothing that another one has:
// it inverts the few tiles of its share, and reads the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "ops/word_similarity/bounds/bound_rows.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

/// Rows, by position, that are compared with a tile.
struct tile_part {
    std::uint32_t tile, begin, end;
};

/// What the first process passes on: the matrix in fixed point (fixed_rows.hpp).
struct shared_rows {
    std::uint32_t words = 0, column_count = 0;
    int bits = 0, product_bits = 0;
    std::span<const std::uint64_t> offsets, sums,
        squares;  ///< by word; with bounds: by position, without empty rows
    std::span<const std::uint32_t> columns;
    std::span<const float> weights;

    bool is_bounded = false;  ///< else the following are empty
    bound_arrays bounds;      ///< by position
    std::span<const float>
        least;  ///< by position: a lower bound of the score of the word's last neighbour, or 0
    std::span<const tile_part> parts;
    std::span<const std::uint64_t> ends;  ///< of the parts of each share
};

/// Passes the rows on, for so many shares, and returns the neighbours that it has found. Of these lists and those of all shares,
/// merged by better() (best_words.hpp), the first `top` are those of similar_words(), whatever its method. Throws as
/// similar_words(), and what `pass_on` throws.
neighbour_lists begin_shared_search(const context_matrix_view& matrix, const similarity_options& options,
                                    std::uint64_t shares, const context& ctx,
                                    const std::function<void(const shared_rows&)>& pass_on);

/// The neighbours that a share, one of `shares`, has.
neighbour_lists find_share(const shared_rows& rows, std::uint64_t share, std::uint64_t shares,
                           const similarity_options& options, const context& ctx);

}  // namespace quern::word_similarity_detail
