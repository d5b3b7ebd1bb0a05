// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/sketch.hpp"

#include <algorithm>

namespace quern::near_duplicates_detail {

template <class Unit>
void sketch(std::span<const Unit> text, std::uint8_t* units, std::uint8_t* pairs) {
    std::array<std::uint32_t, unit_buckets> unit_counts{};
    std::array<std::uint32_t, pair_buckets> pair_counts{};
    for (std::size_t i = 0; i < text.size(); ++i) {
        ++unit_counts[unit_bucket(text[i])];
        if (i + 1 < text.size()) ++pair_counts[pair_bucket(text[i], text[i + 1])];
    }
    const auto write = [](const auto& counts, std::uint8_t* to) {
        for (const std::uint32_t count : counts) *to++ = static_cast<std::uint8_t>(std::min(count, 255u));
    };
    write(unit_counts, units);
    write(pair_counts, pairs);
}

template void sketch(std::span<const std::uint8_t>, std::uint8_t*, std::uint8_t*);
template void sketch(std::span<const std::uint32_t>, std::uint8_t*, std::uint8_t*);

}  // namespace quern::near_duplicates_detail
