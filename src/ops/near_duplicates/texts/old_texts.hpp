// SPDX-License-Identifier: Apache-2.0
// Compares new texts with old ones, on the host. The sketches of old texts are read once, in place and in their order; each
// is compared with the new texts of similar length. An old text itself is read only if its 64 bytes leave a candidate: then
// its pairs of units are counted, once for all new texts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "device/progress_meter.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"
#include "ops/near_duplicates/links/link_search.hpp"

namespace quern::near_duplicates_detail {

/// Receives candidates in batches, on the calling thread.
using take_candidates = std::function<void(std::span<const candidate>)>;

/// Passes on all candidates of an old text and a new one of a tile, as (old, new), each representing its equals. Appends to
/// `copies` the texts that are equal to an old one (including new ones that represent others; old ones with the first
/// tile).
/// - `meter` counts pairs.
/// - With `search`, candidates become links immediately, and none is passed on.
/// - Cost: 80 bytes of each old text and 64 for each pair that lengths allow, then the bytes of the remaining texts.
template <class Unit>
void scan_old_texts(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                    const gram_rules& rules, const sketched_classes& fresh, const decimal& threshold,
                    const take_candidates& take, link_search* search, std::vector<text_copy>& copies,
                    duplicate_counts& counts, progress_meter& meter);

/// The number of pairs of an old and a new text that lengths allow. Cost: O(old texts · log(classes)).
std::uint64_t pairs_with_old(cpu_place& place, const sketch_list& sketches, const text_classes& fresh,
                             const decimal& threshold);

/// An estimate of this number, from a sample if there are many old texts; for progress.
std::uint64_t about_pairs_with_old(cpu_place& place, const sketch_list& sketches, const text_classes& fresh,
                                   const decimal& threshold);

/// `copies` names the first member of a class of new texts if it is equal to an old text; adds all other members of these
/// classes. Returns a flag for each class: whether it is equal to an old text.
std::vector<std::uint8_t> lead_to_old(const text_classes& fresh, std::vector<text_copy>& copies);

}  // namespace quern::near_duplicates_detail
