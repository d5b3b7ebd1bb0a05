// SPDX-License-Identifier: Apache-2.0
// Keys are distributed to buckets by counting. Each piece of work owns a range of buckets and reads all keys, so that the
// entries of a bucket are in the order of their texts for any number of threads.
#include "ops/near_duplicates/filter/segment_index.hpp"

#include <algorithm>

namespace quern::near_duplicates_detail {

void segment_index::fill(cpu_place& place, const texts_by_length& list, std::uint32_t first, bool links) {
    const std::size_t n = keys_.size(), buckets = std::size_t{1} << bits_;
    begins_ = cpu_array<std::uint32_t>(place, buckets + 1, what_for);
    bits_of_buckets_ = cpu_array<std::uint16_t>(place, buckets, what_for);
    entries_ = cpu_array<entry>(place, n, what_for);
    parities_ = cpu_array<std::uint64_t>(place, n, what_for);
    if (links) {
        marks_ = cpu_array<std::uint8_t>(place, buckets, what_for);
        std::ranges::fill(marks_.span(), std::uint8_t{0});
    }
    const std::size_t pieces = pieces_for(place, n, std::size_t{1} << 15, 1);
    std::vector<std::uint32_t> of_piece(pieces + 1);
    std::uint32_t* const next = begins_.data();
    const auto for_each_own = [&](std::size_t p, const auto& work) {
        place.ctx().check_stop();
        const item_range own = piece_of(buckets, pieces, p);
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t bucket = bucket_of(keys_.data()[i]);
            if (own.begin <= bucket && bucket < own.end) work(i, bucket);
        }
    };
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range own = piece_of(buckets, pieces, p);
        std::fill(next + own.begin, next + own.end, 0);
        std::fill(bits_of_buckets_.data() + own.begin, bits_of_buckets_.data() + own.end, std::uint16_t{0});
        std::uint32_t count = 0;
        for_each_own(p, [&](std::size_t i, std::size_t bucket) {
            bits_of_buckets_.data()[bucket] |= static_cast<std::uint16_t>(1u << bit_of(keys_.data()[i]));
            ++next[bucket], ++count;
        });
        of_piece[p + 1] = count;
    });
    for (std::size_t p = 0; p < pieces; ++p) of_piece[p + 1] += of_piece[p];
    next[buckets] = static_cast<std::uint32_t>(n);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range own = piece_of(buckets, pieces, p);
        std::uint32_t begin = of_piece[p];
        for (std::size_t b = own.begin; b < own.end; ++b) begin += std::exchange(next[b], begin);
        for_each_own(p, [&](std::size_t i, std::size_t bucket) {
            const std::uint32_t at = next[bucket]++,
                                number = first + static_cast<std::uint32_t>(i / segments_);
            entries_.data()[at] = {static_cast<std::uint32_t>(keys_.data()[i]), number};
            parities_.data()[at] = list.parities[number];
        });
        // Each is now the begin of the next bucket.
        for (std::size_t b = own.end; b-- > own.begin;) next[b] = b == own.begin ? of_piece[p] : next[b - 1];
    });
    keys_ = {};
}

}  // namespace quern::near_duplicates_detail
