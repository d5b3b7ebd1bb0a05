// SPDX-License-Identifier: Apache-2.0
// The short texts of a search on the CPU, whose pairs come from an index of segments (segment_join.hpp) instead of the scan
// of all pairs: which they are, and the two joins, with old texts and among the new ones.
#pragma once

#include <optional>

#include "ops/near_duplicates/filter/segment_join.hpp"

namespace quern::near_duplicates_detail {

template <class Unit>
class short_texts {
  public:
    /// Plans the joins. Cost: O(texts), and a sample of each length of short texts. Memory, counted at `place`: 12 bytes for each short
    /// class, 20 for each short old text.
    short_texts(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                const text_classes& classes, const duplicate_scope& scope, const decimal& threshold,
                const segment_choice& choice);

    /// The classes before this one have all pairs with old texts (with new ones) found here. If the first number is not 0, so are all
    /// texts that are equal to an old one, except these of the other classes.
    std::uint32_t end_with_old() const { return old_plan_.end; }
    std::uint32_t end_with_new() const { return new_plan_.end; }
    /// Pairs that lengths allow, and the seconds of one thread.
    std::uint64_t pairs() const { return old_plan_.pairs + new_plan_.pairs; }
    double seconds() const { return old_plan_.seconds + new_plan_.seconds; }

    void join_old(std::vector<text_copy>& copies, const found_pairs& found);
    /// `skipped`: by class, whether its pairs are known.
    void join_new(std::span<const std::uint8_t> skipped, const found_pairs& found);

  private:
    void plan_old();
    bool list_old();
    void find_copies(std::vector<text_copy>& copies) const;

    cpu_place& place_;
    const unit_texts<Unit>& texts_;
    const sketch_list& sketches_;
    const text_classes& classes_;
    const decimal& threshold_;
    segment_choice choice_;
    std::optional<listed_texts> columns_, old_;
    cpu_array<std::uint32_t> old_lengths_;
    segment_plan old_plan_, new_plan_;
};

}  // namespace quern::near_duplicates_detail
