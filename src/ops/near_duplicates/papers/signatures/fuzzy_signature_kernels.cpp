// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. The hash depends on 7 bytes only: computing it anew
// for many positions at once is faster than rolling it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/near_duplicates/papers/signatures/fuzzy_signature_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <bit>

#include "hwy/highway.h"
#include "ops/near_duplicates/papers/signatures/fuzzy_signature.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::near_duplicates_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using words = hn::ScalableTag<std::uint32_t>;
using bytes = hn::Rebind<std::uint8_t, words>;
using vector = hn::Vec<words>;

template <int Back>
HWY_INLINE void take_byte(const std::uint8_t* at, vector& sum, vector& weighted, vector& shifted) {
    const vector byte = hn::PromoteTo(words(), hn::LoadU(bytes(), at - Back));
    sum = hn::Add(sum, byte);
    weighted = hn::Add(weighted, sum);
    shifted = hn::Xor(shifted, hn::ShiftLeft<5 * Back>(byte));
}

// Byte j is added to `weighted` with every byte from it on: 7 − j times; `sum` adds the eighth.
HWY_INLINE vector hashes_at(const std::uint8_t* at) {
    vector sum = hn::Zero(words()), weighted = sum, shifted = sum;
    take_byte<0>(at, sum, weighted, shifted);
    take_byte<1>(at, sum, weighted, shifted);
    take_byte<2>(at, sum, weighted, shifted);
    take_byte<3>(at, sum, weighted, shifted);
    take_byte<4>(at, sum, weighted, shifted);
    take_byte<5>(at, sum, weighted, shifted);
    take_byte<6>(at, sum, weighted, shifted);
    return hn::Add(hn::Add(sum, weighted), shifted);
}

std::size_t find_cuts(const std::uint8_t* text, std::size_t begin, std::size_t end, std::uint32_t mask,
                      text_cut* cuts) {
    const words d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t count = 0, p = begin;
    const auto take = [&](std::size_t position) {
        const std::uint32_t hash = rolling_hash(text, position);
        if ((hash & mask) == mask)
            cuts[count++] = {position, static_cast<std::uint32_t>(std::countr_one(hash))};
    };
    for (; p < std::min(end, rolling_bytes - 1); ++p) take(p);
    const vector wanted = hn::Set(d, mask);
    HWY_ALIGN std::uint32_t hashes[hn::MaxLanes(d)];
    for (; end - p != 0 && end >= rolling_bytes - 1 + lanes; p += std::min(lanes, end - p)) {
        const std::size_t at = std::min(p, end - lanes);  // the last vector overlaps the previous one
        const vector hash = hashes_at(text + at);
        const auto found = hn::Eq(hn::And(hash, wanted), wanted);
        if (HWY_LIKELY(hn::AllFalse(d, found))) continue;
        hn::Store(hash, d, hashes);
        std::uint64_t bits = 0;  // one per lane
        hn::StoreMaskBits(d, found, reinterpret_cast<std::uint8_t*>(&bits));
        for (bits &= ~std::uint64_t{0} << (p - at); bits != 0; bits &= bits - 1) {
            const auto i = static_cast<std::size_t>(std::countr_zero(bits));
            cuts[count++] = {at + i, static_cast<std::uint32_t>(std::countr_one(hashes[i]))};
        }
    }
    for (; p < end; ++p) take(p);
    return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::near_duplicates_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::near_duplicates_detail {

HWY_EXPORT(find_cuts);

std::size_t find_cuts(const std::uint8_t* text, std::size_t begin, std::size_t end, std::uint32_t mask,
                      text_cut* cuts) {
    return HWY_DYNAMIC_DISPATCH(find_cuts)(text, begin, end, mask, cuts);
}

}  // namespace quern::near_duplicates_detail
#endif
