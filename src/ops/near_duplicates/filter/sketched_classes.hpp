// SPDX-License-Identifier: Apache-2.0
// Classes of equal texts with their sketches as matrices, in host memory: one tile of neighbours by length at a time, as
// large as memory allows. Evicted sketches are made again when needed: reading 1 KB back from a disk takes about as long as
// counting 2 KB of text.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/array.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"
#include "ops/near_duplicates/texts/text_classes.hpp"
#include "ops/near_duplicates/texts/unit_texts.hpp"

namespace quern::near_duplicates_detail {

/// The rows of the classes `range`, in their order.
struct sketched_classes {
    const text_classes& classes;
    class_range range;
    cpu_array<std::uint8_t> units, pairs;

    const std::uint8_t* unit_row(std::uint32_t c) const {
        return units.data() + std::size_t{c - range.first} * unit_buckets;
    }
    const std::uint8_t* pair_row(std::uint32_t c) const {
        return pairs.data() + std::size_t{c - range.first} * pair_buckets;
    }
};
inline constexpr std::size_t sketched_class_bytes = unit_buckets + pair_buckets;

/// Cost: one pass over the texts of the classes; sketched_class_bytes per class.
template <class Unit>
sketched_classes sketch_classes(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                                const text_classes& classes, class_range range);

/// Tiles of rows and, where not all classes fit at once, of columns to compare them with. Rows get most of the memory: a
/// column is sketched again for each tile of rows that it is compared with.
struct tile_sizes {
    std::uint32_t rows, columns;
};
inline tile_sizes tiles_within(std::uint64_t bytes, std::uint32_t classes) {
    constexpr std::uint64_t least = 64;
    const std::uint64_t fit = std::max(bytes / sketched_class_bytes, 2 * least);
    if (classes <= fit) return {std::max(classes, 1u), std::max(classes, 1u)};
    const std::uint64_t columns = std::max(fit / 8, least);
    return {static_cast<std::uint32_t>(fit - columns), static_cast<std::uint32_t>(columns)};
}

/// Calls work(range) for the tiles of a range, in order.
template <class Work>
void for_each_tile(class_range all, std::uint32_t size, const Work& work) {
    for (std::uint32_t begin = all.first; begin < all.last; begin += std::min(size, all.last - begin))
        work(class_range{begin, begin + std::min(size, all.last - begin)});
}

}  // namespace quern::near_duplicates_detail
