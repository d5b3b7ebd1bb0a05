// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/sketch.hpp"

#include <algorithm>

namespace quern::near_duplicates_detail {
namespace {

/// Counts saturate at 255.
template <std::size_t Buckets>
void write(const std::array<std::uint32_t, Buckets>& counts, std::uint8_t* to) {
    for (const std::uint32_t count : counts) *to++ = static_cast<std::uint8_t>(std::min(count, 255u));
}

}  // namespace

template <class Unit>
void sketch_units(std::span<const Unit> text, std::uint8_t* to) {
    std::array<std::uint32_t, unit_buckets> counts{};
    for (const Unit unit : text) ++counts[unit_bucket(unit)];
    write(counts, to);
}

template <class Unit>
void sketch_pairs(std::span<const Unit> text, std::uint8_t* to) {
    std::array<std::uint32_t, pair_buckets> counts{};
    for (std::size_t i = 1; i < text.size(); ++i) ++counts[pair_bucket(text[i - 1], text[i])];
    write(counts, to);
}

template void sketch_units(std::span<const std::uint8_t>, std::uint8_t*);
template void sketch_units(std::span<const std::uint32_t>, std::uint8_t*);
template void sketch_pairs(std::span<const std::uint8_t>, std::uint8_t*);
template void sketch_pairs(std::span<const std::uint32_t>, std::uint8_t*);

}  // namespace quern::near_duplicates_detail
