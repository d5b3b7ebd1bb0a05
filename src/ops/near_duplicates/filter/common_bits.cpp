// SPDX-License-Identifier: Apache-2.0
// Populations of the intersections of bitmaps. Compiled once for each instruction set; Highway chooses at run time.
#define HWY_WANT_AVX3_DL  // counts bits in one instruction
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/near_duplicates/filter/common_bits.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/highway.h"
#include "ops/near_duplicates/filter/gram_sketch.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::near_duplicates_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using lanes_of_words = hn::CappedTag<std::uint64_t, 8>;

HWY_INLINE std::uint32_t common(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
    const lanes_of_words d;
    const std::size_t n = hn::Lanes(d);
    const auto step = [&](std::size_t i) {
        return hn::PopulationCount(hn::And(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
    };
    auto sum = hn::Zero(d), other = sum;
    for (std::size_t i = 0; i < words; i += 4 * n) {
        sum = hn::Add(sum, hn::Add(step(i), step(i + n)));
        other = hn::Add(other, hn::Add(step(i + 2 * n), step(i + 3 * n)));
    }
    return static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other))));
}

void common_bits(const std::uint64_t* row, const std::uint64_t* const* others, std::size_t count,
                 std::size_t words, std::uint32_t* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = common(row, others[i], words);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::near_duplicates_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::near_duplicates_detail {

HWY_EXPORT(common_bits);

void common_bits(const std::uint64_t* row, const std::uint64_t* const* others, std::size_t count,
                 std::size_t words, std::uint32_t* common) {
    HWY_DYNAMIC_DISPATCH(common_bits)(row, others, count, words, common);
}

}  // namespace quern::near_duplicates_detail
#endif
