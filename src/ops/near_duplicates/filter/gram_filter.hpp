// SPDX-License-Identifier: Apache-2.0
// The last filter before the edit distance: compares the q-grams of two texts, nearly exactly, in 65,536 buckets. It uses
// the bound of sketch.hpp separately for each side: d edits preserve all but q d of a text's q-grams.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quern::near_duplicates_detail {

/// Holds the grams of one text, to compare others with it. One per thread.
template <class Unit>
class gram_filter {
  public:
    gram_filter();

    /// Sets the text that the next ones are compared with. It must stay valid until the next set() or the filter's
    /// destruction. Cost: O(units).
    void set(std::span<const Unit> text);
    /// False only if the distance of the two texts exceeds `d`. Cost: O(units), less where it is false.
    bool allows(std::span<const Unit> other, std::uint32_t d);

  private:
    struct counts {
        unsigned q = 0;
        std::vector<std::int32_t> of_bucket;
        bool filled = false;
    };
    void fill(counts& grams, std::int32_t by);

    std::span<const Unit> text_;
    std::vector<counts> all_;  ///< for q = 2, 3, 4, filled on demand
};

}  // namespace quern::near_duplicates_detail
