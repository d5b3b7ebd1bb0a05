// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/sketched_classes.hpp"

#include "device/cpu/parallel.hpp"

namespace quern::near_duplicates_detail {

template <class Unit>
sketched_classes<Unit> sketch_all(cpu_place& place, const unit_list<Unit>& texts,
                                  const text_classes& classes) {
    const std::size_t n = classes.size();
    sketched_classes<Unit> all{texts, classes,
                               cpu_array<std::uint8_t>(place, n * unit_buckets, "sketches of texts"),
                               cpu_array<std::uint8_t>(place, n * pair_buckets, "sketches of texts")};
    const std::size_t pieces = n / 64 + 1;
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const stretch mine = piece_of(n, pieces, p);
        for (std::size_t c = mine.begin; c < mine.end; ++c)
            sketch(all.text(static_cast<std::uint32_t>(c)), all.units.data() + c * unit_buckets,
                   all.pairs.data() + c * pair_buckets);
    });
    return all;
}

template sketched_classes<std::uint8_t> sketch_all(cpu_place&, const unit_list<std::uint8_t>&,
                                                   const text_classes&);
template sketched_classes<std::uint32_t> sketch_all(cpu_place&, const unit_list<std::uint32_t>&,
                                                    const text_classes&);

}  // namespace quern::near_duplicates_detail
