// SPDX-License-Identifier: Apache-2.0
// The words of bound_rows cut into tiles whose sums stay in a core's own cache, with the entries of each turned round: for
// a column, the words of the tile that have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/spilled_array.hpp"
#include "ops/word_similarity/bounds/bound_rows.hpp"

namespace quern::word_similarity_detail {

/// An entry: the word's place in its tile below, its value above.
using packed_posting = std::uint32_t;

class bound_tile {
  public:
    bound_tile(cpu_place& place, const bound_rows& rows, std::uint32_t columns, item_range which);

    const item_range words;  ///< positions
    std::size_t size() const { return words.end - words.begin; }
    /// of a column that is dense; in a tile of few words none is, and this is no length of a list
    std::uint32_t dense_length() const { return dense_length_; }
    /// The postings of column c are [starts()[c], starts()[c + 1]) of postings(), words rising; of a column that many
    /// of the words have, dense_length() of them hold one 16-bit number for each word instead (bound_kernels.hpp).
    const std::uint32_t* starts() const { return starts_.data(); }
    const packed_posting* postings() const { return postings_.data(); }
    bool spilled() const { return starts_.spilled_bytes() + postings_.spilled_bytes() != 0; }

  private:
    std::uint32_t dense_length_;
    spilled_array<std::uint32_t> starts_;
    spilled_array<packed_posting> postings_;
};

/// A tile of more words than one has no more entries. A dense column takes the room of 5 times its entries at most, so
/// that postings of a tile are numbered in 32 bits.
inline constexpr std::uint64_t max_entries_of_a_tile = std::uint64_t{1} << 29;

/// Tiles of all words with entries. The first, of the longest rows, are small: a tile is compared with itself twice
/// over, and most of the work lies there.
std::vector<bound_tile> cut_into_tiles(cpu_place& place, const bound_rows& rows, std::uint32_t columns,
                                       std::uint64_t max_entries = max_entries_of_a_tile);

}  // namespace quern::word_similarity_detail
