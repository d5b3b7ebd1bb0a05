// SPDX-License-Identifier: Apache-2.0
// Vectors of texts from those of their words: the direction of the sum of the directions of all occurrences, each weighted
// by its word. After the words' vectors everything is in integers, so that neither the order of words nor the machine
// changes the result.
//
// A word's direction is its row of U in the decomposition U·Σ, that is v_j / σ_j, at length 1. The columns of U·Σ differ in
// length by the singular values, and the first ones, which all texts share, would outweigh the others (docs/thesaurus.md
// has the measurements).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"

namespace quern {

namespace word_similarity_detail {

struct counted_word {
    std::uint32_t word, count;
};

/// Thread-safe after construction.
class text_vectors {
  public:
    /// The value of 1 in a row.
    static constexpr std::int32_t unit = 32767;
    /// The maximum weight of a word.
    static constexpr double max_weight = 64;
    /// The bytes of a table of that many words.
    static constexpr std::uint64_t bytes(std::uint64_t words, std::uint64_t dimensions) {
        return words * dimensions * sizeof(std::int32_t);
    }

    /// `weights`: one per word, in [0, max_weight].
    text_vectors(cpu_place& place, std::span<const float> values, std::span<const double> singular_values,
                 std::span<const double> weights);

    std::uint32_t dimensions() const { return dimensions_; }
    /// The direction of a text's words, in whole units; each component is the nearest integer, up to 2^-23 of it. Zeros if
    /// the words have no direction or cancel out. Words in any order, also repeated; total count below 2^32.
    void direction(std::span<const counted_word> words, std::span<std::int16_t> row) const;

  private:
    std::uint32_t dimensions_;
    std::vector<std::int32_t>
        parts_;  ///< by word: a direction's components times its weight, in units of 2^-24
};

}  // namespace word_similarity_detail
}  // namespace quern
