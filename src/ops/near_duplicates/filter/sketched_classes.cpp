// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/sketched_classes.hpp"

#include <algorithm>

#include "device/cpu/parallel.hpp"

namespace quern::near_duplicates_detail {

template <class Unit>
sketched_classes sketch_classes(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                                const text_classes& classes, class_range range) {
    const std::size_t n = range.last - range.first;
    sketched_classes all{classes, range,
                         cpu_array<std::uint8_t>(place, n * unit_buckets, "sketches of texts"),
                         cpu_array<std::uint8_t>(place, n * pair_buckets, "sketches of texts")};
    const std::size_t pieces = n / 64 + 1;
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const item_range mine = piece_of(n, pieces, p);
        std::vector<Unit> scratch;
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            const std::uint32_t text = classes.text(range.first + static_cast<std::uint32_t>(i));
            std::ranges::copy(sketches[text].counts, all.units.data() + i * unit_buckets);
            sketch_pairs(texts.read(text, scratch), all.pairs.data() + i * pair_buckets);
        }
    });
    return all;
}

template sketched_classes sketch_classes(cpu_place&, const unit_texts<std::uint8_t>&, const sketch_list&,
                                         const text_classes&, class_range);
template sketched_classes sketch_classes(cpu_place&, const unit_texts<std::uint32_t>&, const sketch_list&,
                                         const text_classes&, class_range);

}  // namespace quern::near_duplicates_detail
