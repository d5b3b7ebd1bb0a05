// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. A lane is a row. The different bits are counted in
// the lower half of the planes first, and in the others only if a lane is still within the limit.
#define HWY_WANT_AVX3_DL  // counts bits in one instruction
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/near_duplicates/papers/signatures/signature_join_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <bit>

#include "hwy/highway.h"
#include "ops/near_duplicates/papers/signatures/signature_join_bits.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::near_duplicates_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using words = hn::ScalableTag<std::uint64_t>;
using integers = hn::RebindToSigned<words>;
using vector = hn::Vec<words>;

HWY_INLINE vector differing(const code_planes& codes, unsigned plane, std::uint32_t row, vector of_a) {
    return hn::PopulationCount(hn::Xor(hn::LoadU(words(), codes.words + plane * codes.stride + row), of_a));
}

HWY_INLINE vector word_of(const code_planes& codes, unsigned plane, std::uint32_t row) {
    return hn::Set(words(), codes.words[plane * codes.stride + row]);
}

HWY_INLINE hn::Mask<integers> is_within(vector sum, hn::Vec<integers> beyond) {
    return hn::Lt(hn::BitCast(integers(), sum), beyond);
}

// Adds the upper half of the planes, and appends the lanes that are still within the limit.
HWY_INLINE std::size_t finish(const code_planes& codes, std::uint32_t a, std::uint32_t row, vector sum,
                              hn::Vec<integers> beyond, row_pair* pairs) {
    for (unsigned n = codes.levels / 2; n < codes.levels; ++n)
        sum = hn::Add(sum, differing(codes, n, row, word_of(codes, n, a)));
    const auto within = is_within(sum, beyond);
    if (HWY_LIKELY(hn::AllFalse(integers(), within))) return 0;
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(integers(), within, bits);
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < hn::Lanes(integers()); ++i)
        if (bits[i / 8] >> (i % 8) & 1) pairs[count++] = {a, row + i};
    return count;
}

std::uint64_t differing_bits(const code_planes& codes, std::uint32_t a, std::uint32_t b) {
    std::uint64_t sum = 0;
    for (unsigned n = 0; n < codes.levels; ++n) {
        const std::uint64_t* const plane = codes.words + n * codes.stride;
        sum += static_cast<std::uint64_t>(std::popcount(plane[a] ^ plane[b]));
    }
    return sum;
}

// The lower half: two planes whose words of row a stay in registers, and any further ones.
HWY_INLINE vector lower_half(const code_planes& codes, std::uint32_t a, std::uint32_t row, vector first,
                             vector second) {
    vector sum = hn::Add(differing(codes, 0, row, first), differing(codes, 1, row, second));
    for (unsigned n = 2; n < codes.levels / 2; ++n)
        sum = hn::Add(sum, differing(codes, n, row, word_of(codes, n, a)));
    return sum;
}

HWY_INLINE std::size_t filter_row(const code_planes& codes, std::uint32_t a, std::uint32_t b,
                                  std::uint32_t b_end, std::uint64_t limit, row_pair* pairs) {
    const integers d;
    const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
    const vector first = word_of(codes, 0, a), second = word_of(codes, 1, a);
    const auto beyond = hn::Set(d, static_cast<std::int64_t>(limit) + 1);
    std::size_t count = 0;
    for (; b + 2 * lanes <= b_end; b += 2 * lanes) {
        const vector one = lower_half(codes, a, b, first, second),
                     other = lower_half(codes, a, b + lanes, first, second);
        if (HWY_LIKELY(hn::AllFalse(d, hn::Or(is_within(one, beyond), is_within(other, beyond))))) continue;
        count += finish(codes, a, b, one, beyond, pairs + count);
        count += finish(codes, a, b + lanes, other, beyond, pairs + count);
    }
    for (; b + lanes <= b_end; b += lanes)
        count += finish(codes, a, b, lower_half(codes, a, b, first, second), beyond, pairs + count);
    for (; b < b_end; ++b)
        if (differing_bits(codes, a, b) <= limit) pairs[count++] = {a, b};
    return count;
}

std::size_t filter_rows(const code_planes& codes, std::uint32_t a_begin, std::uint32_t a_end,
                        std::uint32_t b_begin, std::uint32_t b_end, bool triangle, std::uint64_t limit,
                        row_pair* pairs) {
    std::size_t count = 0;
    for (std::uint32_t a = a_begin; a < a_end; ++a) {
        const std::uint32_t begin = triangle ? std::max(b_begin, a + 1) : b_begin;
        if (begin < b_end) count += filter_row(codes, a, begin, b_end, limit, pairs + count);
    }
    return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::near_duplicates_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::near_duplicates_detail {

HWY_EXPORT(filter_rows);

std::size_t filter_rows(const code_planes& codes, std::uint32_t a_begin, std::uint32_t a_end,
                        std::uint32_t b_begin, std::uint32_t b_end, bool triangle, std::uint64_t limit,
                        row_pair* pairs) {
    return HWY_DYNAMIC_DISPATCH(filter_rows)(codes, a_begin, a_end, b_begin, b_end, triangle, limit, pairs);
}

}  // namespace quern::near_duplicates_detail
#endif
