// SPDX-License-Identifier: Apache-2.0
// Norms of the differences of sketches. Compiled once for each instruction set; Highway chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/near_duplicates/filter/sketch_norms.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/highway.h"
#include "ops/near_duplicates/filter/sketch.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::near_duplicates_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using bytes = hn::CappedTag<std::uint8_t, unit_buckets>;
using sums = hn::Repartition<std::uint64_t, bytes>;

/// Sums of eight neighbouring differences each.
HWY_INLINE hn::Vec<sums> differences(const std::uint8_t* a, const std::uint8_t* b) {
    const bytes d;
    const auto x = hn::LoadU(d, a), y = hn::LoadU(d, b);
    return hn::SumsOf8(hn::Sub(hn::Max(x, y), hn::Min(x, y)));
}

/// The sums of one row of 64 bytes: each below 2^14 (8 x 255 in each of 8 lanes), so that four can be packed.
HWY_INLINE hn::Vec<sums> row_differences(const std::uint8_t* row, const std::uint8_t* other) {
    const bytes d;
    auto sum = differences(row, other);
    for (std::size_t i = hn::Lanes(d); i < unit_buckets; i += hn::Lanes(d))
        sum = hn::Add(sum, differences(row + i, other + i));
    return sum;
}

void unit_norms(const std::uint8_t* row, const std::uint8_t* others, std::size_t count,
                std::uint32_t* norms) {
    const sums u;
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const std::uint8_t* const four = others + i * unit_buckets;
        const auto low =
            hn::Or(row_differences(row, four), hn::ShiftLeft<16>(row_differences(row, four + unit_buckets)));
        const auto high = hn::Or(row_differences(row, four + 2 * unit_buckets),
                                 hn::ShiftLeft<16>(row_differences(row, four + 3 * unit_buckets)));
        const std::uint64_t all = hn::GetLane(hn::SumOfLanes(u, hn::Or(low, hn::ShiftLeft<32>(high))));
        for (unsigned k = 0; k < 4; ++k) norms[i + k] = static_cast<std::uint32_t>(all >> (16 * k)) & 0xffff;
    }
    for (; i < count; ++i)
        norms[i] = static_cast<std::uint32_t>(
            hn::GetLane(hn::SumOfLanes(u, row_differences(row, others + i * unit_buckets))));
}

std::uint32_t pair_norm(const std::uint8_t* a, const std::uint8_t* b) {
    const bytes d;
    const sums u;
    auto sum = hn::Zero(u);
    for (std::size_t i = 0; i < pair_buckets; i += hn::Lanes(d))
        sum = hn::Add(sum, differences(a + i, b + i));
    return static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(u, sum)));
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::near_duplicates_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::near_duplicates_detail {

HWY_EXPORT(unit_norms);
HWY_EXPORT(pair_norm);

void unit_norms(const std::uint8_t* row, const std::uint8_t* others, std::size_t count,
                std::uint32_t* norms) {
    HWY_DYNAMIC_DISPATCH(unit_norms)(row, others, count, norms);
}
std::uint32_t pair_norm(const std::uint8_t* a, const std::uint8_t* b) {
    return HWY_DYNAMIC_DISPATCH(pair_norm)(a, b);
}

}  // namespace quern::near_duplicates_detail
#endif
