// SPDX-License-Identifier: Apache-2.0
// The pairs of short texts, from an index of their segments: the cost grows with the texts, not with the pairs of texts.
// One step after another indexes the texts of one length, and looks up the texts whose lengths allow a pair with them. What
// shares a segment passes the counts of units, then the bounded edit distance.
#pragma once

#include "device/progress_meter.hpp"
#include "ops/near_duplicates/filter/segment_plan.hpp"
#include "ops/near_duplicates/links/link_search.hpp"
#include "ops/near_duplicates/texts/old_texts.hpp"

namespace quern::near_duplicates_detail {

/// Texts by length with what the join reads of each. 12 bytes for each, counted at `place`.
class listed_texts {
  public:
    /// The texts of the classes 0, ..., count - 1.
    listed_texts(cpu_place& place, const sketch_list& sketches, const text_classes& classes,
                 std::uint32_t count);
    /// These texts. Keeps a view of `lengths`.
    listed_texts(cpu_place& place, const sketch_list& sketches, std::span<const std::uint32_t> texts,
                 std::span<const std::uint32_t> lengths);

    texts_by_length list() const { return {texts_.span(), lengths_, parities_.span()}; }

  private:
    cpu_array<std::uint32_t> texts_;
    cpu_array<std::uint64_t> parities_;
    std::span<const std::uint32_t> lengths_;
};

/// Where the candidates of a join go: as links, if there is a `search`; otherwise to `take`.
struct found_pairs {
    const take_candidates& take;
    link_search* search;
    duplicate_counts& counts;
    progress_meter& meter;
};

/// All pairs of the plan's columns, each text representing its equals. `rows`: null if they are the columns; otherwise old
/// texts, of which those equal to a column are passed over. `skipped`: by column, whether its pairs are known; empty: none.
/// Memory: an index of the texts of one length, or of as many as fit half of what is left.
template <class Unit>
void join_segments(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                   const texts_by_length& columns, const texts_by_length* rows, const segment_plan& plan,
                   std::span<const std::uint8_t> skipped, const segment_choice& choice,
                   const found_pairs& found);

}  // namespace quern::near_duplicates_detail
