// SPDX-License-Identifier: Apache-2.0
// Classes of equal texts with their sketches, in host memory.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "ops/near_duplicates/methods.hpp"
#include "ops/near_duplicates/sketch.hpp"
#include "ops/near_duplicates/text_classes.hpp"

namespace quern::near_duplicates_detail {

template <class Unit>
struct sketched_classes {
    const unit_list<Unit>& texts;
    const text_classes& classes;
    cpu_array<std::uint8_t> units, pairs;  ///< rows in the order of the classes

    std::span<const Unit> text(std::uint32_t c) const {
        const std::uint32_t i = classes.text(c);
        return texts.units.subspan(texts.offsets[i], texts.length(i));
    }
};

/// Cost: one pass over the texts; unit_buckets + pair_buckets bytes a class.
template <class Unit>
sketched_classes<Unit> sketch_all(cpu_place& place, const unit_list<Unit>& texts,
                                  const text_classes& classes);

}  // namespace quern::near_duplicates_detail
