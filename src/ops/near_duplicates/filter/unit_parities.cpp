// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time.
#define HWY_WANT_AVX3_DL  // counts bits in one instruction
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/near_duplicates/filter/unit_parities.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "base/bits.hpp"
#include "hwy/highway.h"
#include "ops/near_duplicates/filter/unit_parities.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::near_duplicates_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

std::size_t near_words(std::uint64_t word, const std::uint64_t* words, std::size_t count, unsigned max,
                       std::uint32_t* near) {
    const hn::CappedTag<std::uint64_t, 8> d;
    const std::size_t n = hn::Lanes(d);
    const auto own = hn::Set(d, word), limit = hn::Set(d, std::uint64_t{max} + 1);
    const auto is_near = [&](std::size_t i) {
        return hn::Lt(hn::PopulationCount(hn::Xor(own, hn::LoadU(d, words + i))), limit);
    };
    std::size_t found = 0, i = 0;
    for (; i + n <= count; i += n) {
        const auto mask = is_near(i);
        if (hn::AllFalse(d, mask)) continue;
        std::uint8_t bits[8] = {};
        hn::StoreMaskBits(d, mask, bits);
        for (unsigned lanes = bits[0]; lanes != 0; lanes &= lanes - 1)
            near[found++] = static_cast<std::uint32_t>(i + trailing_zeros(lanes));
    }
    for (; i < count; ++i)
        if (count_of_ones(word ^ words[i]) <= max) near[found++] = static_cast<std::uint32_t>(i);
    return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::near_duplicates_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::near_duplicates_detail {

HWY_EXPORT(near_words);

std::size_t near_words(std::uint64_t word, const std::uint64_t* words, std::size_t count, unsigned max,
                       std::uint32_t* near) {
    return HWY_DYNAMIC_DISPATCH(near_words)(word, words, count, max, near);
}

}  // namespace quern::near_duplicates_detail
#endif
