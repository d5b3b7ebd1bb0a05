// SPDX-License-Identifier: Apache-2.0
// Classes of equal texts with their sketches as matrices, in host memory.
#pragma once

#include <cstdint>

#include "device/array.hpp"
#include "ops/near_duplicates/sketch.hpp"
#include "ops/near_duplicates/text_classes.hpp"
#include "ops/near_duplicates/unit_texts.hpp"

namespace quern::near_duplicates_detail {

/// Rows in the order of the classes.
struct sketched_classes {
    const text_classes& classes;
    cpu_array<std::uint8_t> units, pairs;

    const std::uint8_t* unit_row(std::uint32_t c) const {
        return units.data() + std::size_t{c} * unit_buckets;
    }
    const std::uint8_t* pair_row(std::uint32_t c) const {
        return pairs.data() + std::size_t{c} * pair_buckets;
    }
};

/// Cost: one pass over the texts of the classes; unit_buckets + pair_buckets bytes a class.
template <class Unit>
sketched_classes sketch_classes(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                                const text_classes& classes);

}  // namespace quern::near_duplicates_detail
