// SPDX-License-Identifier: Apache-2.0
// The bitmaps of gram_sketch.hpp, made on the GPU from texts in its memory; bit for bit those of gram_sketcher.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "ops/near_duplicates/filter/gram_sketch.hpp"

namespace quern::near_duplicates_detail {

/// The rules in device memory: 24 KiB for each scale.
class device_rules {
  public:
    device_rules() = default;
    device_rules(cuda_place& place, const gram_rules& rules);

    static constexpr std::size_t words_of_scale = gram_table::three_words + gram_table::longer_words;
    /// For each scale from first_scale() on: `three`, then `longer`.
    device_span<const std::uint32_t> words() const { return words_.span(); }
    unsigned first_scale() const { return first_; }

  private:
    cuda_array<std::uint32_t> words_;
    unsigned first_ = 0;
};

/// A text and the place of its bitmaps.
struct text_to_sketch {
    std::uint64_t begin;  ///< of its units
    std::uint64_t
        bitmaps;  ///< in words: all grams at its own scale, then the disjoint ones, largest scale first
    std::uint32_t length;       ///< in units
    std::uint32_t populations;  ///< index of the first of those of its disjoint grams, in the same order
    std::uint8_t first, last;   ///< scales with disjoint grams; first > last: none
};

/// Writes the bitmaps and populations of texts, by ascending length. Contract class: exact. Asynchronous.
///
/// Cost: one pass over the units for each scale of a text. Memory: 24 bytes a text; for texts of 4,096 units and more tables of
/// 10 to 40 bytes a unit, at most 8 MiB, for each block that works on one.
template <class Unit>
void sketch_on_device(cuda_place& place, device_span<const Unit> units, const device_rules& rules,
                      std::span<const text_to_sketch> texts, device_span<std::uint64_t> bitmaps,
                      device_span<std::uint32_t> populations);

}  // namespace quern::near_duplicates_detail
