// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. Usually nothing is found: four vectors are compared
// before one branch tests the result.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/top_k/filter_cpu.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <bit>

#include "hwy/highway.h"
#include "primitives/top_k/filter_cpu.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::primitives::top_k_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <bool Strict, class D, class V>
HWY_INLINE hn::Mask<D> worse(D, V key, V limit) {
    if constexpr (!Strict)
        return hn::Gt(key, limit);
    else if constexpr (hwy::IsFloat<hn::TFromD<D>>())
        return hn::Ge(key, limit);
    else
        return hn::Not(hn::Gt(limit, key));
}

/// Bit j: lane j is not set.
template <class D>
HWY_INLINE std::uint64_t bits_unset(D d, hn::Mask<D> mask) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Not(mask), bytes);
    std::uint64_t bits = 0;
    for (std::size_t b = 0; b < (hn::Lanes(d) + 7) / 8; ++b) bits |= std::uint64_t{bytes[b]} << (8 * b);
    return bits;
}

template <bool Strict, class Key>
HWY_INLINE std::size_t collect(const Key* keys, std::size_t size, std::uint64_t flip, Key limit,
                               std::uint32_t* positions) {
    const hn::ScalableTag<Key> d;
    using mask = hn::Mask<decltype(d)>;
    using word = hwy::MakeUnsigned<Key>;
    const auto flips = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<decltype(d)>(), static_cast<word>(flip)));
    const auto limits = hn::Set(d, limit);
    const std::size_t lanes = hn::Lanes(d);
    std::size_t count = 0, i = 0;
    const auto look = [&](std::size_t at) {
        return worse<Strict>(d, hn::Xor(hn::LoadU(d, keys + at), flips), limits);
    };
    const auto note = [&](std::size_t at, mask unfit) {
        for (std::uint64_t bits = bits_unset(d, unfit); bits != 0; bits &= bits - 1)
            positions[count++] = static_cast<std::uint32_t>(at + std::countr_zero(bits));
    };
    for (; i + 4 * lanes <= size; i += 4 * lanes) {
        const mask a = look(i), b = look(i + lanes), c = look(i + 2 * lanes), e = look(i + 3 * lanes);
        if (hn::AllTrue(d, hn::And(hn::And(a, b), hn::And(c, e)))) continue;
        note(i, a);
        note(i + lanes, b);
        note(i + 2 * lanes, c);
        note(i + 3 * lanes, e);
    }
    for (; i < size; ++i) {
        const Key key =
            std::bit_cast<Key>(static_cast<word>(std::bit_cast<word>(keys[i]) ^ static_cast<word>(flip)));
        positions[count] = static_cast<std::uint32_t>(i);
        count += !(Strict ? key >= limit : key > limit);
    }
    return count;
}

#define QUERN_COLLECT(NAME, KEY)                                                                    \
    std::size_t NAME(const KEY* keys, std::size_t size, std::uint64_t flip, KEY limit, bool strict, \
                     std::uint32_t* positions) {                                                    \
        return strict ? collect<true>(keys, size, flip, limit, positions)                           \
                      : collect<false>(keys, size, flip, limit, positions);                         \
    }
QUERN_COLLECT(collect_f32, float)
QUERN_COLLECT(collect_f64, double)
QUERN_COLLECT(collect_u32, std::uint32_t)
QUERN_COLLECT(collect_i32, std::int32_t)
QUERN_COLLECT(collect_u64, std::uint64_t)
QUERN_COLLECT(collect_i64, std::int64_t)
#undef QUERN_COLLECT

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives::top_k_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::primitives::top_k_detail {

#define QUERN_DISPATCH(NAME, KEY)                                                                        \
    HWY_EXPORT(NAME);                                                                                    \
    template <>                                                                                          \
    std::size_t collect_positions<KEY>(const KEY* keys, std::size_t size, std::uint64_t flip, KEY limit, \
                                       bool strict, std::uint32_t* positions) {                          \
        return HWY_DYNAMIC_DISPATCH(NAME)(keys, size, flip, limit, strict, positions);                   \
    }
QUERN_DISPATCH(collect_f32, float)
QUERN_DISPATCH(collect_f64, double)
QUERN_DISPATCH(collect_u32, std::uint32_t)
QUERN_DISPATCH(collect_i32, std::int32_t)
QUERN_DISPATCH(collect_u64, std::uint64_t)
QUERN_DISPATCH(collect_i64, std::int64_t)
#undef QUERN_DISPATCH

}  // namespace quern::primitives::top_k_detail
#endif
