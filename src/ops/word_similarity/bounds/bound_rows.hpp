// SPDX-License-Identifier: Apache-2.0
// Rows in few bits, rounded up, so that a sum of small integers is an upper bound of a score: what `automatic` looks at
// before it computes a score exactly. Proof in docs/word_similarity.md.
//
// Words stand by their number of entries, falling: `position` below. With q the small integers of the rows,
//     lin     Σ (q_a + q_b)  ≥  score · (D_a + D_b),   q = ⌊fixed / 2^shift⌋ + 1,  D = Σ fixed / 2^shift
//     cosine  Σ q_a q_b      ≥  score · (D_a + D_b),   q = ⌊(w + ε) 2^14 / |w|⌋ + 1, D = 2^27
// over the shared columns; `slack` bounds how far the quotient is above the score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/files/spilled_array.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"

namespace quern::word_similarity_detail {

/// Scores and bounds in single precision are compared with this much to spare: many times what they are rounded by.
inline constexpr float bound_margin = 0x1p-18F;

class bound_rows {
  public:
    bound_rows(cpu_place& place, const fixed_rows& rows, similarity_measure measure);

    /// How many positions have entries; those of the empty rows come after them.
    std::uint32_t size() const { return size_; }
    std::uint32_t word(std::size_t position) const { return words_[position]; }
    std::uint64_t begin(std::size_t position) const { return offsets_[position]; }
    std::uint64_t end(std::size_t position) const { return offsets_[position + 1]; }
    const std::uint32_t* columns() const { return columns_.data(); }
    const std::uint16_t* values() const { return values_.data(); }
    /// Whether a term is a product of two values, not their sum.
    bool products() const { return products_; }
    float denominator(std::size_t position) const { return denominators_[position]; }
    float slack(std::size_t position) const { return slacks_[position]; }

  private:
    void fix_lin(cpu_place& place, const fixed_rows& rows);
    void fix_cosine(cpu_place& place, const fixed_rows& rows);

    bool products_;
    std::uint32_t size_ = 0;
    std::vector<std::uint32_t> words_;
    std::vector<std::uint64_t> offsets_;
    std::vector<float> denominators_, slacks_;
    spilled_array<std::uint32_t> columns_;
    spilled_array<std::uint16_t> values_;
};

}  // namespace quern::word_similarity_detail
