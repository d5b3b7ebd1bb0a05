// SPDX-License-Identifier: Apache-2.0
// Vectors of texts from those of their words: the sum of the directions of all occurrences, each as heavy as its word, and
// of that sum the direction. From the words' vectors on everything is an integer, so that neither the order of words nor
// the machine can show.
//
// A word's direction is its row of U of the decomposition U·Σ, that is v_j / σ_j, at length 1: the columns of U·Σ differ
// in length by the singular values, and the first ones, which all texts share, would outweigh the others
// (docs/thesaurus.md has the measurements).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quern {

namespace word_similarity_detail {

struct counted_word {
    std::uint32_t word, count;
};

/// Thread-safe once made.
class text_vectors {
  public:
    /// What stands for 1 in a row.
    static constexpr std::int32_t unit = 32767;
    /// Weights of words at most.
    static constexpr double most_weight = 64;
    /// Bytes that a table of so many words takes.
    static constexpr std::uint64_t bytes(std::uint64_t words, std::uint64_t dimensions) {
        return words * dimensions * sizeof(std::int32_t);
    }

    /// `weights`: one a word, in [0, most_weight].
    text_vectors(std::span<const float> values, std::span<const double> singular_values,
                 std::span<const double> weights);

    std::uint32_t dimensions() const { return dimensions_; }
    /// The direction of a text's words, in whole units, each component the nearest but for 2^-23 of it; zeros where the
    /// words have none or cancel out. In any order, words that come twice too; counts of all together below 2^32.
    void direction(std::span<const counted_word> words, std::span<std::int16_t> row) const;

  private:
    std::uint32_t dimensions_;
    std::vector<std::int32_t>
        parts_;  ///< by words: a direction's components times its weight, in units of 2^-24
};

}  // namespace word_similarity_detail
}  // namespace quern
