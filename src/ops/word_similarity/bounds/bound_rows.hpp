// SPDX-License-Identifier: Apache-2.0
// Rows in few bits, rounded up, so that a sum of small integers is an upper bound of a score: method `automatic`
// computes it before the exact score. Proof in docs/word_similarity.md.
//
// Words are sorted by descending number of entries: `position` below. With q the small integers of the rows,
//     lin     Σ (q_a + q_b)  ≥  score · (D_a + D_b),   q = ⌊fixed / 2^shift⌋ + 1,  D = Σ fixed / 2^shift
//     cosine  Σ q_a q_b      ≥  score · (D_a + D_b),   q = ⌊(w + ε) 2^14 / |w|⌋ + 1, D = 2^27
// over the shared columns; `slack` bounds how far the quotient is above the score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/spilled_array.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"

namespace quern::word_similarity_detail {

/// The margin in comparisons of scores and bounds in single precision: many times their rounding errors.
inline constexpr float bound_margin = 0x1p-18F;

/// The arrays of bound_rows, by position and by entry.
struct bound_arrays {
    bool products = false;
    std::span<const std::uint64_t> offsets;  ///< of the entries
    std::span<const std::uint32_t> words;    ///< all; empty rows come last
    std::span<const float> denominators, slacks;
    std::span<const std::uint32_t> columns;
    std::span<const std::uint16_t> values;
};

class bound_rows {
  public:
    bound_rows(cpu_place& place, const fixed_rows& rows, similarity_measure measure);
    /// Those that another process made; the arrays must outlive it.
    explicit bound_rows(const bound_arrays& made)
        : size_(static_cast<std::uint32_t>(made.denominators.size())), arrays_(made) {}
    bound_rows(const bound_rows&) = delete;  // it views its own arrays
    bound_rows& operator=(const bound_rows&) = delete;

    const bound_arrays& arrays() const { return arrays_; }
    /// The number of positions with entries; empty rows come after them.
    std::uint32_t size() const { return size_; }
    std::uint32_t word(std::size_t position) const { return arrays_.words[position]; }
    std::uint64_t begin(std::size_t position) const { return arrays_.offsets[position]; }
    std::uint64_t end(std::size_t position) const { return arrays_.offsets[position + 1]; }
    const std::uint32_t* columns() const { return arrays_.columns.data(); }
    const std::uint16_t* values() const { return arrays_.values.data(); }
    /// Whether a term is a product of two values, not their sum.
    bool products() const { return arrays_.products; }
    float denominator(std::size_t position) const { return arrays_.denominators[position]; }
    float slack(std::size_t position) const { return arrays_.slacks[position]; }

  private:
    void fix_lin(cpu_place& place, const fixed_rows& rows);
    void fix_cosine(cpu_place& place, const fixed_rows& rows);

    std::uint32_t size_ = 0;
    bound_arrays arrays_;
    std::vector<std::uint32_t> words_;
    std::vector<std::uint64_t> offsets_;
    std::vector<float> denominators_, slacks_;
    spilled_array<std::uint32_t> columns_;
    spilled_array<std::uint16_t> values_;
};

// The loops over the sums of a row and a tile, with the vector registers of the current processor.

/// Arrays of these kernels are read, and `sums` written, up to the next multiple of this; beyond `size`, sums are 0 and
/// denominators positive.
inline constexpr std::size_t kernel_group = 64;

/// Adds `value` and a column's values to the sums of those that have it: values[i] is 0 or a value below 2^15 with this
/// bit set. Both arrays go up to the next multiple of kernel_group beyond `size`.
inline constexpr std::uint16_t dense_mark = 0x8000;
void add_dense_sums(std::uint32_t* sums, const std::uint16_t* values, std::size_t size, std::uint16_t value);
/// Adds `value` times a column's values; values[i] has 16 bits.
void add_dense_products(std::uint32_t* sums, const std::uint16_t* values, std::size_t size,
                        std::uint16_t value);

/// A row compared with a tile: its denominator, and the minimum score of its neighbours.
struct row_bound {
    float denominator, least;
};

/// Finds the i, rising, with sums[i] > 0 and sums[i] / (row.denominator + denominators[i]) at least
/// min(row.least, least[i]), and some that miss it by less than bound_margin; writes them with upper bounds of the
/// quotients, and returns their number. Sets the sums to 0.
std::size_t collect_reaching(std::uint32_t* sums, const float* denominators, const float* least,
                             std::size_t size, row_bound row, std::uint32_t* positions, float* bounds);

/// Cuts the quotients sums[i] / (denominator + denominators[i]) into `groups` or some more groups and writes the
/// approximate maximum of each; returns their number, or 0 if there are too few.
std::size_t group_maxima(const std::uint32_t* sums, const float* denominators, std::size_t size,
                         float denominator, std::size_t groups, float* maxima);

// The words of bound_rows cut into tiles whose sums stay in a core's own cache, each tile inverted: for a column, the
// words of the tile that have it.

/// An entry: the word's position in its tile in the lower bits, its value in the upper ones.
using packed_posting = std::uint32_t;

class bound_tile {
  public:
    bound_tile(cpu_place& place, const bound_rows& rows, std::uint32_t columns, item_range which);

    const item_range words;  ///< positions
    std::size_t size() const { return words.end - words.begin; }
    /// of a column that is dense; in a tile of few words none is, and this is no length of a list
    std::uint32_t dense_length() const { return dense_length_; }
    /// The postings of column c are [starts()[c], starts()[c + 1]) of postings(), words rising; of a column that many
    /// of the words have, dense_length() of them hold one 16-bit number for each word instead.
    const std::uint32_t* starts() const { return starts_.data(); }
    const packed_posting* postings() const { return postings_.data(); }
    bool spilled() const { return starts_.spilled_bytes() + postings_.spilled_bytes() != 0; }

  private:
    std::uint32_t dense_length_;
    spilled_array<std::uint32_t> starts_;
    spilled_array<packed_posting> postings_;
};

/// dense_length() of a tile of so many words.
std::uint32_t dense_length_of(std::size_t words);
/// Whether a column is dense in a tile of so many words of which so many have it.
bool is_dense(std::size_t words, std::size_t that_have_it);

/// The maximum entries of a tile of several words. A dense column takes at most 5 times the space of its entries, so
/// that the postings of a tile are numbered in 32 bits.
inline constexpr std::uint64_t max_entries_of_a_tile = std::uint64_t{1} << 29;

/// The positions of each tile. The first ones, with the longest rows, are small: a tile is compared with itself in both
/// directions, and most of the work lies there.
std::vector<item_range> ranges_of_tiles(const bound_rows& rows,
                                        std::uint64_t max_entries = max_entries_of_a_tile);
std::vector<bound_tile> make_tiles(cpu_place& place, const bound_rows& rows, std::uint32_t columns,
                                   std::span<const item_range> words);
/// Tiles of all words with entries.
std::vector<bound_tile> cut_into_tiles(cpu_place& place, const bound_rows& rows, std::uint32_t columns,
                                       std::uint64_t max_entries = max_entries_of_a_tile);

}  // namespace quern::word_similarity_detail
