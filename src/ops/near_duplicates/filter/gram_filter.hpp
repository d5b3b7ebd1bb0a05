// SPDX-License-Identifier: Apache-2.0
// The last filters before the edit distance, for the few pairs that the bitmaps leave:
// - the counts of pairs of units in 1 KB, with the bound of sketch.hpp;
// - the q-grams, nearly exactly, in 65,536 buckets. Here the bound is used separately for each side: d edits preserve all
//   but q d of a text's q-grams.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/near_duplicates/filter/sketch.hpp"

namespace quern::near_duplicates_detail {

/// Holds the grams of one text, to compare others with it. One per thread.
template <class Unit>
class gram_filter {
  public:
    gram_filter();

    /// Sets the text that the next ones are compared with. It must stay valid until the next set() or the filter's
    /// destruction. Cost: O(units).
    void set(std::span<const Unit> text);
    /// False only if the distance of the two texts exceeds `d`. `number` identifies the other text: its counts are kept for
    /// the next calls. Cost: O(units), less where it is false.
    bool allows(std::uint32_t number, std::span<const Unit> other, std::uint32_t d);
    /// The same by the grams alone, where pairs of units were compared before.
    bool grams_allow(std::span<const Unit> other, std::uint32_t d);

  private:
    struct counts {
        unsigned q = 0;
        std::vector<std::int32_t> of_bucket;
        bool filled = false;
    };
    using pair_counts = std::array<std::uint8_t, pair_buckets>;
    struct known_text {
        bool is_known = false;
        std::uint32_t number = 0;
        pair_counts pairs{};
    };
    static constexpr std::size_t max_known = 256;

    const pair_counts& pairs_of(std::uint32_t number, std::span<const Unit> text);
    void fill(counts& grams, std::int32_t by);

    std::span<const Unit> text_;
    bool has_pairs_ = false;
    pair_counts pairs_{};            ///< of text_
    std::vector<known_text> known_;  ///< by the number, modulo the size
    std::vector<counts> all_;        ///< for q = 2, 3, 4, filled on demand
};

}  // namespace quern::near_duplicates_detail
