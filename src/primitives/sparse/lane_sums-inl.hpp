// SPDX-License-Identifier: Apache-2.0
// Sums of one vector of lanes with an error bound, and the loading of their entries: shared by the kernels of rows, slabs
// and blocks. Included once for each instruction set.
// - Floats: products are exact in double; s adds them, t their magnitudes.
// - Doubles: a product is p + e without error, an addition s' + r (Dekker 1971, Knuth 1969); c adds all e and r, so that s
//   + c is a sum in twice the precision (Ogita, Rump and Oishi 2005), and t adds |p|.
// - The error of s, or of s + c, is at most t times a factor that depends only on the number of terms. If adding and
//   subtracting that much rounds to the same Value, the exact sum does too.
// - Splits of a row among lanes increase the number of terms and change nothing else.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "primitives/sparse/sum_kernels.hpp"

#if defined(QUERN_SIMD_LANE_SUMS) == defined(HWY_TARGET_TOGGLE)
#ifdef QUERN_SIMD_LANE_SUMS
#undef QUERN_SIMD_LANE_SUMS
#else
#define QUERN_SIMD_LANE_SUMS
#endif

HWY_BEFORE_NAMESPACE();
namespace quern::primitives::sparse_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_MAX_BYTES >= 64 && !HWY_HAVE_SCALABLE
constexpr std::size_t width = 8;
#elif HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE
constexpr std::size_t width = 4;
#elif HWY_TARGET == HWY_SCALAR
constexpr std::size_t width = 1;
#else
constexpr std::size_t width = 2;
#endif
using doubles = hn::FixedTag<double, width>;
using floats = hn::Rebind<float, doubles>;
using indices32 = hn::Rebind<std::int32_t, doubles>;
using words32 = hn::Rebind<std::uint32_t, doubles>;
using indices64 = hn::RebindToSigned<doubles>;
using vector = hn::Vec<doubles>;
using mask = hn::Mask<doubles>;

constexpr std::size_t ahead = 256;  // entries
constexpr std::size_t block_lanes = 32;
constexpr std::uint32_t padding = 0xffffffff;

// ---- Sums of one vector of lanes ----

// With ARM the constructors are written out, because GCC gives implicit ones no instruction set and then cannot inline those of
// a vector.
template <class Value>
struct lane_sums;
template <>
struct lane_sums<float> {
#if HWY_ARCH_ARM
    HWY_ATTR lane_sums() {}
    HWY_ATTR lane_sums(vector s_, vector t_) : s(s_), t(t_) {}
#endif
    vector s, t;
};
template <>
struct lane_sums<double> {
#if HWY_ARCH_ARM
    HWY_ATTR lane_sums() {}
    HWY_ATTR lane_sums(vector s_, vector t_, vector c_) : s(s_), t(t_), c(c_) {}
#endif
    vector s, t, c;
};
template <class Value>
HWY_INLINE lane_sums<Value> no_sums() {
    const vector zero = hn::Zero(doubles());
    if constexpr (std::is_same_v<Value, float>)
        return {zero, zero};
    else
        return {zero, zero, zero};
}

/// a + b = sum + rest, without error except on overflow.
HWY_INLINE vector sum_of_two(vector a, vector b, vector& rest) {
    const vector sum = hn::Add(a, b), b_part = hn::Sub(sum, a);
    rest = hn::Add(hn::Sub(a, hn::Sub(sum, b_part)), hn::Sub(b, b_part));
    return sum;
}

/// a · x = product + rest, without error except on overflow and underflow.
HWY_INLINE vector product_of_two(vector a, vector x, vector& rest) {
    const vector product = hn::Mul(a, x);
#if HWY_NATIVE_FMA
    rest = hn::MulSub(a, x, product);
#else
    const vector split = hn::Set(doubles(), 0x1p27 + 1);  // Veltkamp
    const vector a_wide = hn::Mul(split, a), x_wide = hn::Mul(split, x);
    const vector a_high = hn::Sub(a_wide, hn::Sub(a_wide, a)), x_high = hn::Sub(x_wide, hn::Sub(x_wide, x));
    const vector a_low = hn::Sub(a, a_high), x_low = hn::Sub(x, x_high);
    const vector high = hn::Sub(hn::Mul(a_high, x_high), product);
    const vector middle = hn::Add(hn::Add(high, hn::Mul(a_high, x_low)), hn::Mul(a_low, x_high));
    rest = hn::Add(middle, hn::Mul(a_low, x_low));
#endif
    return product;
}

HWY_INLINE void add_products(vector a, vector x, lane_sums<float>& sums) {
    const vector product = hn::Mul(a, x);
    sums.s = hn::Add(sums.s, product);
    sums.t = hn::Add(sums.t, hn::Abs(product));
}
HWY_INLINE void add_products(vector a, vector x, lane_sums<double>& sums) {
    vector product_rest, sum_rest;
    const vector product = product_of_two(a, x, product_rest);
    sums.s = sum_of_two(sums.s, product, sum_rest);
    sums.c = hn::Add(sums.c, hn::Add(product_rest, sum_rest));
    sums.t = hn::Add(sums.t, hn::Abs(product));
}

/// add_products starting from empty sums.
HWY_INLINE lane_sums<float> first_products(vector a, vector x, lane_sums<float>* /*type*/) {
    const vector product = hn::Mul(a, x);
    return {hn::Add(product, hn::Zero(doubles())), hn::Abs(product)};  // −0 becomes +0
}
HWY_INLINE lane_sums<double> first_products(vector a, vector x, lane_sums<double>* /*type*/) {
    vector rest;
    const vector product = product_of_two(a, x, rest);
    return {product, hn::Abs(product), rest};
}

HWY_INLINE lane_sums<double> joined(const lane_sums<double>& a, const lane_sums<double>& b) {
    lane_sums<double> sums;
    vector rest;
    sums.s = sum_of_two(a.s, b.s, rest);
    sums.c = hn::Add(hn::Add(a.c, b.c), rest);
    sums.t = hn::Add(a.t, b.t);
    return sums;
}

template <class Move>
HWY_INLINE lane_sums<double> moved(const lane_sums<double>& a, const lane_sums<double>& b, Move&& move) {
    return {move(a.s, b.s), move(a.t, b.t), move(a.c, b.c)};
}

/// As a mask of doubles.
HWY_INLINE mask same_bits(hn::Vec<floats> a, hn::Vec<floats> b) {
    const hn::RebindToUnsigned<floats> u;
    const auto same = hn::VecFromMask(u, hn::Eq(hn::BitCast(u, a), hn::BitCast(u, b)));
    const auto wide = hn::PromoteTo(indices64(), hn::BitCast(indices32(), same));
    return hn::MaskFromVec(hn::BitCast(doubles(), wide));
}

/// Stores the settled Values and returns their mask. `terms`: maximum additions into each lane. A lane that added only
/// zeros is settled for floats; for doubles it is not, because products may have underflowed. Sums near the end of the
/// range are not: Highway's conversion to float saturates at the maximum on some targets.
HWY_INLINE mask settle(const lane_sums<float>& sums, vector terms, float* y) {
    const doubles d;
    const floats f;
    const vector bound = hn::Mul(sums.t, hn::Mul(hn::Add(terms, hn::Set(d, 8)), hn::Set(d, 0x1.1p-53)));
    const auto low = hn::DemoteTo(f, hn::Sub(sums.s, bound)), high = hn::DemoteTo(f, hn::Add(sums.s, bound));
    hn::StoreU(low, f, y);
    return hn::And(same_bits(low, high), hn::Le(sums.t, hn::Set(d, 0x1p127)));
}
HWY_INLINE mask settle(const lane_sums<double>& sums, vector terms, double* y) {
    const doubles d;
    const vector n = hn::Add(terms, hn::Set(d, 2));
    const vector bound = hn::Mul(sums.t, hn::Mul(hn::Mul(n, n), hn::Set(d, 0x3p-106)));
    vector rest;
    const vector sum = sum_of_two(sums.s, sums.c, rest);
    const vector low = hn::Add(sum, hn::Sub(rest, bound)), high = hn::Add(sum, hn::Add(rest, bound));
    hn::StoreU(low, d, y);
    const mask in_range = hn::And(hn::Ge(sums.t, hn::Set(d, 0x1p-900)), hn::Le(sums.t, hn::Set(d, 0x1p1020)));
    return hn::And(hn::Eq(low, high), in_range);
}

HWY_INLINE std::uint64_t bits_of(mask lanes) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(doubles(), lanes, bytes);
    return bytes[0] & ((1u << width) - 1);
}

// ---- Sums that know whether they are exact ----

/// Sums whose error is at most `lost`, the magnitudes that the additions rounded away: 0 where a sum is exact, and then only its
/// conversion to Value rounds. Most sums that the bound above does not settle are such ones: the sum of a few values is often
/// halfway between two others. Floats: the sum is s, of products that are exact in double. Doubles: it is s + c.
template <class Value>
struct checked_sums;
template <>
struct checked_sums<float> {
#if HWY_ARCH_ARM
    HWY_ATTR checked_sums() {}
    HWY_ATTR checked_sums(vector s_, vector lost_) : s(s_), lost(lost_) {}
#endif
    vector s, lost;
};
template <>
struct checked_sums<double> {
#if HWY_ARCH_ARM
    HWY_ATTR checked_sums() {}
    HWY_ATTR checked_sums(vector s_, vector c_, vector lost_) : s(s_), c(c_), lost(lost_) {}
#endif
    vector s, c, lost;
};
template <class Value>
HWY_INLINE checked_sums<Value> no_checked_sums() {
    const vector zero = hn::Zero(doubles());
    if constexpr (std::is_same_v<Value, float>)
        return {zero, zero};
    else
        return {zero, zero, zero};
}
HWY_INLINE checked_sums<float> joined(const checked_sums<float>& a, const checked_sums<float>& b) {
    vector rest;
    const vector sum = sum_of_two(a.s, b.s, rest);
    return {sum, hn::Add(hn::Add(a.lost, b.lost), hn::Abs(rest))};
}
HWY_INLINE checked_sums<double> joined(const checked_sums<double>& a, const checked_sums<double>& b) {
    vector rest, lost, more_lost;
    const vector sum = sum_of_two(a.s, b.s, rest);
    vector c = sum_of_two(a.c, b.c, lost);
    c = sum_of_two(c, rest, more_lost);
    return {sum, c, hn::Add(hn::Add(a.lost, b.lost), hn::Add(hn::Abs(lost), hn::Abs(more_lost)))};
}
template <class Move>
HWY_INLINE checked_sums<float> moved(const checked_sums<float>& a, const checked_sums<float>& b,
                                     Move&& move) {
    return {move(a.s, b.s), move(a.lost, b.lost)};
}
template <class Move>
HWY_INLINE checked_sums<double> moved(const checked_sums<double>& a, const checked_sums<double>& b,
                                      Move&& move) {
    return {move(a.s, b.s), move(a.c, b.c), move(a.lost, b.lost)};
}
/// What a product that small may have lost: far less than 1.
HWY_INLINE vector lost_of_small(vector a, vector x, vector product) {
    const doubles d;
    const mask zero = hn::Or(hn::Eq(a, hn::Zero(d)), hn::Eq(x, hn::Zero(d)));
    const mask small = hn::AndNot(zero, hn::Lt(hn::Abs(product), hn::Set(d, 0x1p-900)));
    return hn::IfThenElseZero(small, hn::Set(d, 1));
}
/// One product in each lane.
HWY_INLINE checked_sums<float> checked_products(vector a, vector x, float /*type*/) {
    return {hn::Add(hn::Mul(a, x), hn::Zero(doubles())), hn::Zero(doubles())};  // −0 becomes +0
}
HWY_INLINE checked_sums<double> checked_products(vector a, vector x, double /*type*/) {
    vector rest;
    const vector product = product_of_two(a, x, rest);
    return {hn::Add(product, hn::Zero(doubles())), rest, lost_of_small(a, x, product)};
}
/// Sums whose error has a bound by their number of additions.
HWY_INLINE checked_sums<float> checked_by_bound(const lane_sums<float>& sums, double terms) {
    return {sums.s, hn::Mul(sums.t, hn::Set(doubles(), (terms + 8) * 0x1.1p-53))};
}
HWY_INLINE void add_checked(vector a, vector x, checked_sums<float>& sums) {
    sums = joined(sums, {hn::Mul(a, x), hn::Zero(doubles())});
}
HWY_INLINE void add_checked(vector a, vector x, checked_sums<double>& sums) {
    vector product_rest, sum_rest, lost, more_lost;
    const vector product = product_of_two(a, x, product_rest);
    sums.s = sum_of_two(sums.s, product, sum_rest);
    sums.c = sum_of_two(sums.c, product_rest, lost);
    sums.c = sum_of_two(sums.c, sum_rest, more_lost);
    sums.lost = hn::Add(sums.lost, hn::Add(hn::Abs(lost), hn::Abs(more_lost)));
    sums.lost = hn::Add(sums.lost, lost_of_small(a, x, product));
}

/// A bound of the error of sum ± lost, and of the rounding of both.
HWY_INLINE vector bound_of_lost(vector lost, vector sum) {
    const doubles d;
    const vector bound =
        hn::Add(hn::Mul(lost, hn::Set(d, 1 + 0x1p-20)), hn::Mul(hn::Abs(sum), hn::Set(d, 0x1p-50)));
    return hn::IfThenElseZero(hn::Ne(lost, hn::Zero(d)), bound);
}
/// Stores the settled Values and returns their mask. Sums near the end of the range are left, as by settle() above.
HWY_INLINE mask settle(const checked_sums<float>& sums, float* y) {
    const doubles d;
    const floats f;
    const vector bound = bound_of_lost(sums.lost, sums.s);
    const auto low = hn::DemoteTo(f, hn::Sub(sums.s, bound)), high = hn::DemoteTo(f, hn::Add(sums.s, bound));
    hn::StoreU(low, f, y);
    return hn::And(same_bits(low, high), hn::Le(hn::Abs(sums.s), hn::Set(d, 0x1p127)));
}
HWY_INLINE mask settle(const checked_sums<double>& sums, double* y) {
    const doubles d;
    vector rest;
    const vector sum = sum_of_two(sums.s, sums.c, rest);
    const vector bound = bound_of_lost(sums.lost, rest);
    const vector low = hn::Add(sum, hn::Sub(rest, bound)), high = hn::Add(sum, hn::Add(rest, bound));
    hn::StoreU(low, d, y);
    return hn::And(hn::Eq(low, high), hn::Le(hn::Abs(sum), hn::Set(d, 0x1p1020)));
}
/// Of the lanes `left`: stores the exact sums in y, and returns their lanes.
template <class Value>
HWY_INLINE std::uint64_t settle_checked(const checked_sums<Value>& sums, std::uint64_t left, Value* y) {
    Value found[width];
    const std::uint64_t settled = bits_of(settle(sums, found)) & left;
    for (std::uint64_t rest = settled; rest != 0; rest &= rest - 1) {
        const auto lane = hwy::Num0BitsBelowLS1Bit_Nonzero64(rest);
        y[lane] = found[lane];
    }
    return settled;
}

// ---- Entries ----

/// x[index] where `present`, else 0. With 512 bits it uses intrinsics: GatherIndex keeps the old contents of its register, so
/// each gather waits for the previous computation there: half the speed for short rows.
HWY_INLINE vector gathered(const double* x, hn::Vec<indices64> index, mask present) {
#if HWY_TARGET <= HWY_AVX3
    return vector{_mm512_mask_i64gather_pd(_mm512_setzero_pd(), present.raw, index.raw, x, 8)};
#else
    const hn::Mask<indices64> in_words = hn::RebindMask(indices64(), present);
    return hn::IfThenElseZero(present, hn::GatherIndex(doubles(), x, hn::IfThenElseZero(in_words, index)));
#endif
}
HWY_INLINE hn::Vec<floats> gathered(const float* x, hn::Vec<indices32> index, hn::Mask<floats> present) {
#if HWY_TARGET <= HWY_AVX3
    return hn::Vec<floats>{_mm256_mmask_i32gather_ps(_mm256_setzero_ps(), present.raw, index.raw, x, 4)};
#else
    const hn::Mask<indices32> in_words = hn::RebindMask(indices32(), present);
    return hn::IfThenElseZero(present, hn::GatherIndex(floats(), x, hn::IfThenElseZero(in_words, index)));
#endif
}

HWY_INLINE void load_factors(const entries<float>& from, std::size_t at, std::size_t count, vector& a,
                             vector& x) {
    const floats f;
    const hn::Mask<floats> present = hn::FirstN(f, count);
    const auto index = hn::LoadU(indices32(), reinterpret_cast<const std::int32_t*>(from.column + at));
    a = hn::PromoteTo(doubles(), hn::IfThenElseZero(present, hn::LoadU(f, from.value + at)));
    x = hn::PromoteTo(doubles(), gathered(from.x, index, present));
}
HWY_INLINE void load_factors(const entries<double>& from, std::size_t at, std::size_t count, vector& a,
                             vector& x) {
    const mask present = hn::FirstN(doubles(), count);
    const auto index = hn::PromoteTo(hn::RebindToUnsigned<doubles>(), hn::LoadU(words32(), from.column + at));
    a = hn::IfThenElseZero(present, hn::LoadU(doubles(), from.value + at));
    x = gathered(from.x, hn::BitCast(indices64(), index), present);
}
/// The first `count` <= width entries from `at` on, padded with zeros; later entries are read but not used.
template <class Value>
HWY_INLINE void load_factors(const entries<Value>& from, std::size_t at, vector& a, vector& x) {
    load_factors(from, at, width, a, x);
}

/// Prefetches the entries from `at` on: a core's own prefetcher stops at page ends, and a loop that gathers leaves it few
/// loads (measured: a third more entries per second).
template <class Value>
HWY_INLINE void ask_for(const entries<Value>& from, std::size_t at) {
    hwy::Prefetch(from.value + at);
    hwy::Prefetch(from.column + at);
}

/// A whole vector of entries whose columns may be padding; false if all are.
HWY_INLINE bool load_padded(const entries<float>& from, std::size_t at, vector& a, vector& x) {
    const floats f;
    const indices32 i;
    const auto column = hn::LoadU(i, reinterpret_cast<const std::int32_t*>(from.column + at));
    const auto present = hn::Ne(column, hn::Set(i, -1));
    if (hn::AllFalse(i, present)) return false;
    a = hn::PromoteTo(doubles(), hn::LoadU(f, from.value + at));
    x = hn::PromoteTo(doubles(), gathered(from.x, column, hn::RebindMask(f, present)));
    return true;
}
HWY_INLINE bool load_padded(const entries<double>& from, std::size_t at, vector& a, vector& x) {
    const doubles d;
    const indices64 i;
    const auto column = hn::BitCast(
        i, hn::PromoteTo(hn::RebindToUnsigned<doubles>(), hn::LoadU(words32(), from.column + at)));
    const auto present = hn::Ne(column, hn::Set(i, padding));
    if (hn::AllFalse(i, present)) return false;
    a = hn::LoadU(d, from.value + at);
    x = gathered(from.x, column, hn::RebindMask(d, present));
    return true;
}

/// Adds the `rest` < width entries from `at` on.
template <class Value>
HWY_INLINE void add_rest(const entries<Value>& from, std::size_t at, std::size_t rest,
                         lane_sums<Value>& sums) {
    vector a, x;
    if (HWY_LIKELY(at + width <= from.readable)) {
        load_factors(from, at, rest, a, x);
    } else {
        std::uint32_t column[width] = {};
        Value value[width] = {};
        std::copy_n(from.column + at, rest, column);
        std::copy_n(from.value + at, rest, value);
        load_factors(entries<Value>{column, value, width, from.x}, 0, rest, a, x);
    }
    add_products(a, x, sums);
}

template <class Value>
HWY_INLINE lane_sums<Value> sum_row(const entries<Value>& from, std::size_t begin, std::size_t end) {
    lane_sums<Value> sums = no_sums<Value>();
    std::size_t at = begin;
    for (; at + width <= end; at += width) {
        vector a, x;
        load_factors(from, at, a, x);
        add_products(a, x, sums);
    }
    if (at < end) add_rest(from, at, end - at, sums);
    return sums;
}
// ---- Partial sums of many lanes, in memory ----

template <std::size_t lanes>
struct stored_sums {
    HWY_ALIGN double s[lanes], t[lanes], c[lanes];
};
template <std::size_t lanes>
HWY_INLINE void load(const stored_sums<lanes>& from, std::size_t at, lane_sums<float>& sums) {
    sums = {hn::Load(doubles(), from.s + at), hn::Load(doubles(), from.t + at)};
}
template <std::size_t lanes>
HWY_INLINE void load(const stored_sums<lanes>& from, std::size_t at, lane_sums<double>& sums) {
    sums = {hn::Load(doubles(), from.s + at), hn::Load(doubles(), from.t + at),
            hn::Load(doubles(), from.c + at)};
}
template <std::size_t lanes>
HWY_INLINE void store(const lane_sums<float>& sums, std::size_t at, stored_sums<lanes>& to) {
    hn::Store(sums.s, doubles(), to.s + at);
    hn::Store(sums.t, doubles(), to.t + at);
}
template <std::size_t lanes>
HWY_INLINE void store(const lane_sums<double>& sums, std::size_t at, stored_sums<lanes>& to) {
    hn::Store(sums.s, doubles(), to.s + at);
    hn::Store(sums.t, doubles(), to.t + at);
    hn::Store(sums.c, doubles(), to.c + at);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives::sparse_detail
HWY_AFTER_NAMESPACE();

#endif
