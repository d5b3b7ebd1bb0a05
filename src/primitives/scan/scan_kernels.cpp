// SPDX-License-Identifier: Apache-2.0
// A vector is scanned in log₂(lanes) steps (Kogge and Stone 1973): in the step of distance k, lane i adds lane i − k. With
// segments it does so only if none begins in between; a mask computed from the heads' bits by the same doubling tells.
// Compiled once for each instruction set; Highway chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/scan/scan_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <cstring>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "primitives/scan/scan_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::primitives::scan_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const hn::TFromD<D>* in) {
    return hn::LoadU(d, in);
}
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const std::uint8_t* in) {
    return hn::PromoteTo(
        d, hn::PromoteTo(hn::Rebind<std::uint32_t, D>(), hn::LoadU(hn::Rebind<std::uint8_t, D>(), in)));
}
template <class D, std::enable_if_t<sizeof(hn::TFromD<D>) == 8, int> = 0>
HWY_INLINE hn::Vec<D> load_as(D d, const std::uint32_t* in) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint32_t, D>(), in));
}

template <class Out, bool Maximum>
struct operation {
    template <class V>
    static HWY_INLINE V vectors(V a, V b) {
        if constexpr (Maximum)
            return hn::Max(a, b);
        else
            return hn::Add(a, b);
    }
    static Out numbers(Out a, Out b) { return Maximum ? (a < b ? b : a) : static_cast<Out>(a + b); }
};

template <class D>
HWY_INLINE hn::Mask<D> mask_of(D d, std::uint64_t bits) {
    std::uint8_t bytes[8];
    std::memcpy(bytes, &bits, sizeof bits);
    return hn::LoadMaskBits(d, bytes);
}

/// The tables of one vector type: the source of lane i in the step of distance 1, 2, 4, 8.
template <class D>
struct shifts {
    using T = hn::TFromD<D>;
    using indices = decltype(hn::SetTableIndices(D(), static_cast<const hwy::MakeSigned<T>*>(nullptr)));
    static HWY_INLINE auto by(D d, std::size_t distance) {
        HWY_ALIGN hwy::MakeSigned<T> from[HWY_MAX_BYTES / sizeof(T)];
        const std::size_t lanes = hn::Lanes(d);
        for (std::size_t i = 0; i < lanes; ++i)
            from[i] = static_cast<hwy::MakeSigned<T>>(i < distance ? 0 : i - distance);
        return hn::SetTableIndices(d, from);
    }
    static HWY_INLINE auto last(D d) {
        HWY_ALIGN hwy::MakeSigned<T> from[HWY_MAX_BYTES / sizeof(T)];
        const std::size_t lanes = hn::Lanes(d);
        for (std::size_t i = 0; i < lanes; ++i) from[i] = static_cast<hwy::MakeSigned<T>>(lanes - 1);
        return hn::SetTableIndices(d, from);
    }
};

template <class In, class Out, bool Maximum, bool Inclusive, bool Segmented>
Out scan(const In* in, Out* out, std::size_t size, Out before, Out flip, bool streamed,
         const std::uint64_t* heads) {
    using combine = operation<Out, Maximum>;
    const auto one_by_one = [&](std::size_t i, std::size_t end) {
        for (; i < end; ++i) {
            if (Segmented && (heads[i / 64] >> i % 64 & 1) != 0) before = 0;
            const Out with = combine::numbers(before, static_cast<Out>(in[i] ^ flip));
            out[i] = static_cast<Out>((Inclusive ? with : before) ^ flip);
            before = with;
        }
    };
    const hn::ScalableTag<Out> d;
    const std::size_t lanes = hn::Lanes(d);
    constexpr std::size_t max_lanes = HWY_MAX_BYTES / sizeof(Out);
    std::size_t i = 0;
    if (streamed) {  // whole lines only; their vectors then lie within the heads' bytes as they may
        while (i < size && reinterpret_cast<std::uintptr_t>(out + i) % HWY_MAX(lanes * sizeof(Out), 1) != 0)
            ++i;
        one_by_one(0, i);
    }
    const auto by1 = shifts<decltype(d)>::by(d, 1), by2 = shifts<decltype(d)>::by(d, 2);
    const auto by4 = shifts<decltype(d)>::by(d, 4), by8 = shifts<decltype(d)>::by(d, 8);
    const auto of_last = shifts<decltype(d)>::last(d);
    const auto flips = hn::Set(d, flip);
    const std::uint64_t all = lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lanes) - 1;
    const auto first_lane = mask_of(d, 1);
    auto may1 = mask_of(d, all & (all << 1)), may2 = mask_of(d, all & (all << 2));
    auto may4 = mask_of(d, all & (all << 4)), may8 = mask_of(d, all & (all << 8));
    auto carried = mask_of(d, all), no_head = carried;
    auto carry = hn::Set(d, before);
    const auto step = [](auto v, auto by, auto may) HWY_ATTR {
        return combine::vectors(v, hn::IfThenElseZero(may, hn::TableLookupLanes(v, by)));
    };
    for (; i + lanes <= size; i += lanes) {
        auto v = load_as(d, in + i);
        if constexpr (Maximum) v = hn::Xor(v, flips);
        if constexpr (Segmented) {
            std::uint64_t bits;
            std::memcpy(&bits, reinterpret_cast<const std::uint8_t*>(heads) + i / 8, sizeof bits);
            bits = bits >> i % 8 & all;
            const std::uint64_t g1 = ~bits & all & ~std::uint64_t{1}, g2 = g1 & g1 << 1;
            const std::uint64_t g4 = g2 & g2 << 2, g8 = g4 & g4 << 4;
            may1 = mask_of(d, g1), may2 = mask_of(d, g2), may4 = mask_of(d, g4), may8 = mask_of(d, g8);
            carried = mask_of(d, (bits - 1) & ~bits & all);
            no_head = mask_of(d, ~bits & all);
        }
        [[maybe_unused]] const auto values = v;
        if constexpr (max_lanes > 1) v = step(v, by1, may1);
        if constexpr (max_lanes > 2) v = step(v, by2, may2);
        if constexpr (max_lanes > 4) v = step(v, by4, may4);
        if constexpr (max_lanes > 8) v = step(v, by8, may8);
        static_assert(max_lanes <= 16);
        v = combine::vectors(v, Segmented ? hn::IfThenElseZero(carried, carry) : carry);
        auto result = v;
        if constexpr (!Inclusive && !Maximum) {
            result = hn::Sub(v, values);
        } else if constexpr (!Inclusive) {
            result = hn::IfThenElse(first_lane, carry, hn::TableLookupLanes(v, by1));
            if constexpr (Segmented) result = hn::IfThenElseZero(no_head, result);
        }
        carry = hn::TableLookupLanes(v, of_last);
        if constexpr (Maximum) result = hn::Xor(result, flips);
        if (streamed)
            hn::Stream(result, d, out + i);
        else
            hn::StoreU(result, d, out + i);
    }
    before = hn::GetLane(carry);
    one_by_one(i, size);
    if (streamed) hwy::FlushStream();
    return before;
}

template <class In, class Out, bool Maximum>
Out fold(const In* in, std::size_t size, Out flip) {
    using combine = operation<Out, Maximum>;
    const hn::ScalableTag<Out> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto flips = hn::Set(d, flip);
    auto a = hn::Zero(d), b = a, c = a, e = a;
    const auto load = [&](std::size_t i) HWY_ATTR { return hn::Xor(load_as(d, in + i), flips); };
    std::size_t i = 0;
    for (; i + 4 * lanes <= size; i += 4 * lanes) {
        a = combine::vectors(a, load(i));
        b = combine::vectors(b, load(i + lanes));
        c = combine::vectors(c, load(i + 2 * lanes));
        e = combine::vectors(e, load(i + 3 * lanes));
    }
    for (; i + lanes <= size; i += lanes) a = combine::vectors(a, load(i));
    a = combine::vectors(combine::vectors(a, b), combine::vectors(c, e));
    HWY_ALIGN Out each[HWY_MAX_BYTES / sizeof(Out)];
    hn::Store(a, d, each);
    Out all = 0;
    for (std::size_t l = 0; l < lanes; ++l) all = combine::numbers(all, each[l]);
    for (; i < size; ++i) all = combine::numbers(all, static_cast<Out>(in[i] ^ flip));
    return all;
}

template <class In, class Out, bool Maximum>
Out scan_as_requested(const chunk_scan& how, const void* in, void* out, std::size_t size,
                      std::uint64_t before, const std::uint64_t* heads) {
    const auto run = heads != nullptr ? how.inclusive ? &scan<In, Out, Maximum, true, true>
                                                      : &scan<In, Out, Maximum, false, true>
                     : how.inclusive ? &scan<In, Out, Maximum, true, false>
                                      : &scan<In, Out, Maximum, false, false>;
    return run(static_cast<const In*>(in), static_cast<Out*>(out), size, static_cast<Out>(before),
               static_cast<Out>(how.flip), how.streamed, heads);
}

std::uint64_t scan_values(const chunk_scan& how, const void* in, void* out, std::size_t size,
                          std::uint64_t before, const std::uint64_t* heads) {
    using word = std::uint32_t;
    using wide = std::uint64_t;
    switch (how.types) {
        case value_types::words32:
            return how.maximum ? scan_as_requested<word, word, true>(how, in, out, size, before, heads)
                               : scan_as_requested<word, word, false>(how, in, out, size, before, heads);
        case value_types::words64:
            return how.maximum ? scan_as_requested<wide, wide, true>(how, in, out, size, before, heads)
                               : scan_as_requested<wide, wide, false>(how, in, out, size, before, heads);
        case value_types::words32_to_64:
            return scan_as_requested<word, wide, false>(how, in, out, size, before, heads);
        case value_types::bytes_to_64:
            return scan_as_requested<std::uint8_t, wide, false>(how, in, out, size, before, heads);
    }
    return 0;
}

template <class In, class Out>
std::uint64_t fold_as_requested(const chunk_scan& how, const void* in, std::size_t size) {
    return how.maximum ? fold<In, Out, true>(static_cast<const In*>(in), size, static_cast<Out>(how.flip))
                       : fold<In, Out, false>(static_cast<const In*>(in), size, static_cast<Out>(how.flip));
}

std::uint64_t fold_values(const chunk_scan& how, const void* in, std::size_t size) {
    switch (how.types) {
        case value_types::words32:
            return fold_as_requested<std::uint32_t, std::uint32_t>(how, in, size);
        case value_types::words64:
            return fold_as_requested<std::uint64_t, std::uint64_t>(how, in, size);
        case value_types::words32_to_64:
            return fold_as_requested<std::uint32_t, std::uint64_t>(how, in, size);
        case value_types::bytes_to_64:
            return fold_as_requested<std::uint8_t, std::uint64_t>(how, in, size);
    }
    return 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives::scan_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::primitives::scan_detail {

HWY_EXPORT(scan_values);
HWY_EXPORT(fold_values);

std::uint64_t scan_values(const chunk_scan& how, const void* in, void* out, std::size_t size,
                          std::uint64_t before, const std::uint64_t* heads) {
    return HWY_DYNAMIC_DISPATCH(scan_values)(how, in, out, size, before, heads);
}
std::uint64_t fold_values(const chunk_scan& how, const void* in, std::size_t size) {
    return HWY_DYNAMIC_DISPATCH(fold_values)(how, in, size);
}

}  // namespace quern::primitives::scan_detail
#endif
