// SPDX-License-Identifier: Apache-2.0
// The last filter before the edit distance: the q-grams of two texts, nearly exactly, in 65,536 buckets. The same bound
// as sketch.hpp, on either side alone: of the q-grams of a text, d edits leave all but q d in the other one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quern::near_duplicates_detail {

/// Holds the grams of one text, to compare others with it. One a thread.
template <class Unit>
class gram_filter {
  public:
    gram_filter();

    /// Takes the text that the next ones are compared with; it must stay where it is until the next one is set, or the
    /// filter goes. Cost: O(units).
    void set(std::span<const Unit> text);
    /// False only where the distance of the two texts exceeds `d`. Cost: O(units), less where it is false.
    bool allows(std::span<const Unit> other, std::uint32_t d);

  private:
    struct counts {
        unsigned q = 0;
        std::vector<std::int32_t> of_bucket;
        bool filled = false;
    };
    void fill(counts& grams, std::int32_t by);

    std::span<const Unit> text_;
    std::vector<counts> all_;  ///< for q = 2, 3, 4, filled as they are needed
};

}  // namespace quern::near_duplicates_detail
