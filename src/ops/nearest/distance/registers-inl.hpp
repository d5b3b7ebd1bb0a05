// SPDX-License-Identifier: Apache-2.0
// Components in vector registers: shared by the kernels of exact distances. Included once for each instruction set.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ops/nearest/distance/components.hpp"

#if defined(QUERN_SIMD_RETRIEVAL_REGISTERS) == defined(HWY_TARGET_TOGGLE)
#ifdef QUERN_SIMD_RETRIEVAL_REGISTERS
#undef QUERN_SIMD_RETRIEVAL_REGISTERS
#else
#define QUERN_SIMD_RETRIEVAL_REGISTERS
#endif

HWY_BEFORE_NAMESPACE();
namespace quern::nearest_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using floats = hn::ScalableTag<float>;
using doubles = hn::ScalableTag<double>;
using shorts = hn::ScalableTag<std::int16_t>;
using integers = hn::ScalableTag<std::int32_t>;
using words = hn::ScalableTag<std::uint32_t>;
using longs = hn::ScalableTag<std::int64_t>;
using long_words = hn::ScalableTag<std::uint64_t>;

constexpr std::size_t lanes = hn::MaxLanes(floats());
// ---- Loads ----

HWY_INLINE void fetch_ahead(const void* at, std::size_t bytes) {
    hwy::Prefetch(static_cast<const std::byte*>(at) + bytes);
}

/// The first `count` values, padded with zeros; reads nothing past them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, std::size_t count) {
    if constexpr (HWY_MEM_OPS_MIGHT_FAULT) {
        HWY_ALIGN T values[hn::MaxLanes(d)] = {};
        for (std::size_t i = 0; i < count; ++i) values[i] = from[i];
        return hn::Load(d, values);
    } else {
        return hn::MaskedLoad(hn::FirstN(d, count), d, from);
    }
}

template <vector_type Type>
HWY_INLINE hn::Vec<floats> as_floats(hn::Vec<hn::Rebind<std::uint16_t, floats>> stored) {
    const floats d;
    if constexpr (Type == vector_type::f16)
        return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, floats>(), stored));
    else
        return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(words(), stored)));
}

/// `lanes` floats, or the first `count` of them padded with zeros.
template <vector_type Type>
HWY_INLINE hn::Vec<floats> load_floats(const stored_t<Type>* from) {
    if constexpr (Type == vector_type::f32)
        return hn::LoadU(floats(), from);
    else
        return as_floats<Type>(hn::LoadU(hn::Rebind<std::uint16_t, floats>(), from));
}
template <vector_type Type>
HWY_INLINE hn::Vec<floats> load_floats(const stored_t<Type>* from, std::size_t count) {
    if constexpr (Type == vector_type::f32)
        return load_first(floats(), from, count);
    else
        return as_floats<Type>(load_first(hn::Rebind<std::uint16_t, floats>(), from, count));
}

/// A register of i16 from i16, i8 or u8.
template <class Stored>
HWY_INLINE hn::Vec<shorts> load_shorts(const Stored* from) {
    if constexpr (sizeof(Stored) == 2)
        return hn::LoadU(shorts(), from);
    else
        return hn::PromoteTo(shorts(), hn::LoadU(hn::Rebind<Stored, shorts>(), from));
}
template <class Stored>
HWY_INLINE hn::Vec<shorts> load_shorts(const Stored* from, std::size_t count) {
    if constexpr (sizeof(Stored) == 2)
        return load_first(shorts(), from, count);
    else
        return hn::PromoteTo(shorts(), load_first(hn::Rebind<Stored, shorts>(), from, count));
}

// ---- Trees ----

template <part_kind Kind, class V>
HWY_INLINE V join(V a, V b) {
    if constexpr (Kind == part_kind::greatest)
        return hn::Max(a, b);
    else
        return hn::Add(a, b);
}

/// items[j] holds the sums of pair j: the tree of each, in lane j. If lanes are in blocks of four (128 bits), the first
/// additions are of those eight apart, then four (both across blocks), then two and one within.
template <part_kind Kind, class V>
HWY_INLINE V add_trees(const V (&items)[lanes]) {
#if HWY_TARGET == HWY_SCALAR
    return items[0];
#else
    const hn::DFromV<V> d;
    const hn::RepartitionToWide<decltype(d)> wide;
    V blocks[4];
#pragma GCC unroll 4
    for (std::size_t m = 0; m < 4; ++m) {
        if constexpr (lanes == 4) {
            blocks[m] = items[m];
        } else {
            V x = items[m], y = items[4 + m];
            if constexpr (lanes == 16) {
                const V over_x = items[8 + m], over_y = items[12 + m];
                x = join<Kind>(hn::ConcatLowerLower(d, over_x, x), hn::ConcatUpperUpper(d, over_x, x));
                y = join<Kind>(hn::ConcatLowerLower(d, over_y, y), hn::ConcatUpperUpper(d, over_y, y));
            }
            blocks[m] = join<Kind>(hn::OddEvenBlocks(y, x), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(x, y)));
        }
    }
    const auto pair = [&](V a, V b) HWY_ATTR {
        return hn::BitCast(wide, join<Kind>(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
    };
    const auto first = pair(blocks[0], blocks[1]), second = pair(blocks[2], blocks[3]);
    return join<Kind>(hn::BitCast(d, hn::InterleaveLower(wide, first, second)),
                      hn::BitCast(d, hn::InterleaveUpper(wide, first, second)));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::nearest_detail
HWY_AFTER_NAMESPACE();

#endif
