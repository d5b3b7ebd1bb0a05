// SPDX-License-Identifier: Apache-2.0
// A text cut into one segment more than the edits that a pair allows: one of them is in the other text unchanged, and
// nearly where it was (Pass-Join: Li, Deng, Wang, Feng 2011). docs/near_duplicates.md has the proof.
//
// All texts of one length are cut at the same places. Which places is free, and decides the cost: a segment that many
// texts share, such as a common beginning, leads to many candidates. So the places come from a sample of the texts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace quern::near_duplicates_detail {

/// Where segment `segment` of a text can be in another one that is `longer_by` units longer (shorter, if negative) and
/// within `distance` edits: first to last units to the right of its own place. Empty where last < first.
struct shift_range {
    std::int32_t first, last;
    std::uint32_t size() const { return last < first ? 0 : static_cast<std::uint32_t>(last - first) + 1; }
};
constexpr shift_range shifts_of(std::uint32_t segment, std::uint32_t distance, std::int32_t longer_by) {
    // At most `before` edits are to the left of it, and at most `after` to its right.
    const auto before = static_cast<std::int32_t>(segment),
               after = static_cast<std::int32_t>(distance - segment);
    return {std::max(-before, longer_by - after), std::min(before, longer_by + after)};
}

/// Where pairs of texts of one length agree: the number of pairs that agree in all units from one place to another.
/// Places are multiples of a step, so that long texts have few.
class agreements {
  public:
    explicit agreements(std::uint32_t length);

    /// Adds two texts of this length. Cost: O(length). Call finish() after the last.
    template <class Unit>
    void add(std::span<const Unit> a, std::span<const Unit> b) {
        ++pairs_;
        for (std::uint32_t i = 0; i < length_;) {
            if (a[i] != b[i]) {
                ++i;
                continue;
            }
            const std::uint32_t begin = i;
            while (i < length_ && a[i] == b[i]) ++i;
            add_run(begin, i);
        }
    }
    void finish();

    /// Places of `distance` + 1 segments: the first is 0, the last the length. They make the number of texts that share
    /// a segment, as often as it is looked up, small. Requires distance < length. Cost: O(distance · min(length, 128)²).
    std::vector<std::uint32_t> cuts(std::uint32_t distance) const;
    /// An estimate of how often a text meets another one in the index of these cuts.
    double matches(std::span<const std::uint32_t> cuts) const;

  private:
    static constexpr std::uint32_t max_places = 128;

    void add_run(std::uint32_t begin, std::uint32_t end);
    std::uint32_t& count(std::uint32_t first, std::uint32_t last) {
        return counts_[std::size_t{first} * (places_ + 1) + last];
    }
    std::uint32_t unit(std::uint32_t place) const { return std::min(place * step_, length_); }
    /// The part of pairs that agree from place `first` to `last`, as segment `segment` of distance + 1.
    double cost(std::uint32_t segment, std::uint32_t distance, std::uint32_t first, std::uint32_t last) const;

    std::uint32_t length_, step_, places_;  ///< places 0, …, places_
    std::uint64_t pairs_ = 0;
    std::vector<std::uint32_t> counts_;
    std::vector<std::int64_t> changes_;  ///< of the pairs that agree in a unit, from each unit to the next
    std::vector<double> unseen_;  ///< as counts_: the part of pairs that agree, if the sample shows none
};

}  // namespace quern::near_duplicates_detail
