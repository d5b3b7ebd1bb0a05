// SPDX-License-Identifier: Apache-2.0
// New texts beside old ones, on the host: the sketches of old texts are read once, where they lie and in their order,
// and each meets the new texts of about its length. An old text itself is read only where its 64 bytes leave a
// candidate: then its pairs of units are counted, once for all new texts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ops/near_duplicates/sketched_classes.hpp"

namespace quern::near_duplicates_detail {

/// Takes candidates in batches, on the thread that asked for them.
using take_candidates = std::function<void(std::span<const candidate>)>;

/// Hands over all candidates of an old text and a new one of a tile, (old, new), each standing for its equals, and
/// appends to `copies` the texts that are equal to an old one, new ones that stand for others included, old ones with the
/// first tile.
/// Cost: 80 bytes of each old text and 64 for each pair that lengths allow, then the bytes of those that are left.
template <class Unit>
void scan_old_texts(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                    const sketched_classes& fresh, const decimal& threshold, const take_candidates& take,
                    std::vector<text_copy>& copies, duplicate_counts& counts);

/// How many pairs of an old and a new text lengths allow. Cost: O(old texts · log(classes)).
std::uint64_t pairs_beside_old(cpu_place& place, const sketch_list& sketches, const text_classes& fresh,
                               const decimal& threshold);

/// Completes `copies`, which names the first of a class of new texts where it is equal to an old one, by all other
/// members of the classes. Returns a flag for each class: whether it is equal to an old text.
std::vector<std::uint8_t> lead_to_old(const text_classes& fresh, std::vector<text_copy>& copies);

}  // namespace quern::near_duplicates_detail
