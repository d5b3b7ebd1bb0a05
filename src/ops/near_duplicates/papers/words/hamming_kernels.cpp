// SPDX-License-Identifier: Apache-2.0
// A comparison is an exclusive or, a population count and a test. Hardly any pair passes, so two vectors share a branch.
// Compiled once for each instruction set; Highway chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/near_duplicates/papers/words/hamming_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <bit>

#include "hwy/highway.h"
#include "ops/near_duplicates/papers/words/hamming_join.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::near_duplicates_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

std::size_t find_near(const std::uint64_t* values, std::size_t size, std::uint64_t x, unsigned bits,
                      std::uint32_t* found) {
    const hn::ScalableTag<std::uint64_t> d;
    const hn::RebindToSigned<decltype(d)> signed_d;
    const std::size_t lanes = hn::Lanes(d);
    const auto all_x = hn::Set(d, x);
    const auto limit = hn::Set(signed_d, static_cast<std::int64_t>(bits) + 1);
    const auto near_at = [&](std::size_t i) HWY_ATTR {
        const auto different = hn::Xor(hn::LoadU(d, values + i), all_x);
        return hn::Lt(hn::BitCast(signed_d, hn::PopulationCount(different)), limit);
    };
    std::size_t count = 0, i = 0;
    for (; i + 2 * lanes <= size; i += 2 * lanes) {
        const auto near_0 = near_at(i), near_1 = near_at(i + lanes);
        if (hn::AllFalse(signed_d, hn::Or(near_0, near_1))) continue;
        for (const auto& [near, first] : {std::pair{near_0, i}, std::pair{near_1, i + lanes}}) {
            alignas(8) std::uint8_t mask[8] = {};
            hn::StoreMaskBits(signed_d, near, mask);
            for (std::size_t lane = 0; lane < lanes; ++lane)
                if (mask[lane / 8] >> lane % 8 & 1) found[count++] = static_cast<std::uint32_t>(first + lane);
        }
    }
    for (; i < size; ++i)
        if (std::popcount(values[i] ^ x) <= static_cast<int>(bits))
            found[count++] = static_cast<std::uint32_t>(i);
    return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::near_duplicates_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::near_duplicates_detail {

HWY_EXPORT(find_near);

std::size_t find_near(const std::uint64_t* values, std::size_t size, std::uint64_t x, unsigned bits,
                      std::uint32_t* found) {
    return HWY_DYNAMIC_DISPATCH(find_near)(values, size, x, bits, found);
}

}  // namespace quern::near_duplicates_detail
#endif
