// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. Floats: products are exact in double; s adds
// them, t their magnitudes. Doubles: a product is p + e without error, an addition s' + r (Dekker 1971, Knuth 1969); c adds
// all e and r, so that s + c is a sum in twice the precision (Ogita, Rump and Oishi 2005), and t adds |p|. The
// error of s, or of s + c, is at most a factor of t that depends on the number of terms alone: where adding and taking
// away that much rounds to the same Value, so does the exact sum. Splits of a row among lanes add to the number of
// terms and change nothing else.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/sparse/sum_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "primitives/sparse/sum_kernels.hpp"

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

template <class Value>
struct lane_sums;
template <>
struct lane_sums<float> {
    vector s, t;
};
template <>
struct lane_sums<double> {
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

/// a + b = sum + rest, without error but for overflow.
HWY_INLINE vector sum_of_two(vector a, vector b, vector& rest) {
    const vector sum = hn::Add(a, b), b_part = hn::Sub(sum, a);
    rest = hn::Add(hn::Sub(a, hn::Sub(sum, b_part)), hn::Sub(b, b_part));
    return sum;
}

/// a · x = product + rest, without error but for overflow and underflow.
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

/// What add_products makes of no sums.
HWY_INLINE lane_sums<float> first_products(vector a, vector x, lane_sums<float>* /*type*/) {
    const vector product = hn::Mul(a, x);
    return {hn::Add(product, hn::Zero(doubles())), hn::Abs(product)};  // −0 becomes +0
}
HWY_INLINE lane_sums<double> first_products(vector a, vector x, lane_sums<double>* /*type*/) {
    vector rest;
    const vector product = product_of_two(a, x, rest);
    return {product, hn::Abs(product), rest};
}

HWY_INLINE lane_sums<float> joined(const lane_sums<float>& a, const lane_sums<float>& b) {
    return {hn::Add(a.s, b.s), hn::Add(a.t, b.t)};
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
HWY_INLINE lane_sums<float> moved(const lane_sums<float>& a, const lane_sums<float>& b, Move&& move) {
    return {move(a.s, b.s), move(a.t, b.t)};
}
template <class Move>
HWY_INLINE lane_sums<double> moved(const lane_sums<double>& a, const lane_sums<double>& b, Move&& move) {
    return {move(a.s, b.s), move(a.t, b.t), move(a.c, b.c)};
}

/// Stores the Values that are settled and returns which are. `terms`: additions that went into each lane, at most. A
/// lane that added nothing but zeros is settled for floats; for doubles it is not, for products may have vanished. Sums
/// near the end of the range are not: Highway's conversion to float stops at the greatest one on some targets.
HWY_INLINE mask settle(const lane_sums<float>& sums, vector terms, float* y) {
    const doubles d;
    const floats f;
    const hn::RebindToUnsigned<floats> u;
    const vector bound = hn::Mul(sums.t, hn::Mul(hn::Add(terms, hn::Set(d, 8)), hn::Set(d, 0x1.1p-53)));
    const auto low = hn::DemoteTo(f, hn::Sub(sums.s, bound)), high = hn::DemoteTo(f, hn::Add(sums.s, bound));
    hn::StoreU(low, f, y);
    const auto same = hn::Eq(hn::BitCast(u, low), hn::BitCast(u, high));
    const auto as_words = hn::VecFromMask(u, same);  // and to masks of doubles
    const hn::RebindToSigned<doubles> i;
    const auto wide = hn::PromoteTo(i, hn::BitCast(indices32(), as_words));
    return hn::And(hn::MaskFromVec(hn::BitCast(d, wide)), hn::Le(sums.t, hn::Set(d, 0x1p127)));
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

// ---- What is added ----

/// x[index] where `there`, else 0. With 512 bits by intrinsics, for GatherIndex leaves the register it gathers into
/// as it was, which makes each gather wait for what was computed there before: half the speed of short rows.
HWY_INLINE vector gathered(const double* x, hn::Vec<indices64> index, mask there) {
#if HWY_TARGET <= HWY_AVX3
    return vector{_mm512_mask_i64gather_pd(_mm512_setzero_pd(), there.raw, index.raw, x, 8)};
#else
    const hn::Mask<indices64> in_words = hn::RebindMask(indices64(), there);
    return hn::IfThenElseZero(there, hn::GatherIndex(doubles(), x, hn::IfThenElseZero(in_words, index)));
#endif
}
HWY_INLINE hn::Vec<floats> gathered(const float* x, hn::Vec<indices32> index, hn::Mask<floats> there) {
#if HWY_TARGET <= HWY_AVX3
    return hn::Vec<floats>{_mm256_mmask_i32gather_ps(_mm256_setzero_ps(), there.raw, index.raw, x, 4)};
#else
    const hn::Mask<indices32> in_words = hn::RebindMask(indices32(), there);
    return hn::IfThenElseZero(there, hn::GatherIndex(floats(), x, hn::IfThenElseZero(in_words, index)));
#endif
}

HWY_INLINE void load_factors(const entries<float>& from, std::size_t at, std::size_t count, vector& a,
                             vector& x) {
    const floats f;
    const hn::Mask<floats> there = hn::FirstN(f, count);
    const auto index = hn::LoadU(indices32(), reinterpret_cast<const std::int32_t*>(from.column + at));
    a = hn::PromoteTo(doubles(), hn::IfThenElseZero(there, hn::LoadU(f, from.value + at)));
    x = hn::PromoteTo(doubles(), gathered(from.x, index, there));
}
HWY_INLINE void load_factors(const entries<double>& from, std::size_t at, std::size_t count, vector& a,
                             vector& x) {
    const mask there = hn::FirstN(doubles(), count);
    const auto index = hn::PromoteTo(hn::RebindToUnsigned<doubles>(), hn::LoadU(words32(), from.column + at));
    a = hn::IfThenElseZero(there, hn::LoadU(doubles(), from.value + at));
    x = gathered(from.x, hn::BitCast(indices64(), index), there);
}
/// The first `count` <= width entries from `at` on, and zeros behind them; what follows them is read, and not followed.
template <class Value>
HWY_INLINE void load_factors(const entries<Value>& from, std::size_t at, vector& a, vector& x) {
    load_factors(from, at, width, a, x);
}

/// Asks for the entries from `at` on, which are read later: a core's own guesses end with each page, and a loop that
/// gathers leaves them few of its loads (measured: a third more entries a second).
template <class Value>
HWY_INLINE void ask_for(const entries<Value>& from, std::size_t at) {
    hwy::Prefetch(from.value + at);
    hwy::Prefetch(from.column + at);
}

/// A whole vector of entries whose columns may be padding; false where all are.
HWY_INLINE bool load_padded(const entries<float>& from, std::size_t at, vector& a, vector& x) {
    const floats f;
    const indices32 i;
    const auto column = hn::LoadU(i, reinterpret_cast<const std::int32_t*>(from.column + at));
    const auto there = hn::Ne(column, hn::Set(i, -1));
    if (hn::AllFalse(i, there)) return false;
    a = hn::PromoteTo(doubles(), hn::LoadU(f, from.value + at));
    x = hn::PromoteTo(doubles(), gathered(from.x, column, hn::RebindMask(f, there)));
    return true;
}
HWY_INLINE bool load_padded(const entries<double>& from, std::size_t at, vector& a, vector& x) {
    const doubles d;
    const indices64 i;
    const auto column = hn::BitCast(
        i, hn::PromoteTo(hn::RebindToUnsigned<doubles>(), hn::LoadU(words32(), from.column + at)));
    const auto there = hn::Ne(column, hn::Set(i, padding));
    if (hn::AllFalse(i, there)) return false;
    a = hn::LoadU(d, from.value + at);
    x = gathered(from.x, column, hn::RebindMask(d, there));
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

// ---- Rows ----

/// `width` rows at a time: each is summed along its entries into a vector; the vectors are folded together, so that lane
/// i is row i in the end. Vector j must hold row fold_order[j].
constexpr std::size_t fold_order[8] = {0, 1, width == 8 ? 4 : 2, width == 8 ? 5 : 3, 2, 3, 6, 7};

template <class Value>
HWY_INLINE lane_sums<Value> folded(const lane_sums<Value>* rows) {
#if HWY_TARGET == HWY_SCALAR
    return rows[0];
#else
    const doubles d;
    const auto pair_up = [&](const lane_sums<Value>& a, const lane_sums<Value>& b) HWY_ATTR {
        return joined(moved(a, b, [d](vector v, vector w) HWY_ATTR { return hn::InterleaveLower(d, v, w); }),
                      moved(a, b, [d](vector v, vector w) HWY_ATTR { return hn::InterleaveUpper(d, v, w); }));
    };
    if constexpr (width == 2) {
        return pair_up(rows[0], rows[1]);
    } else {
        const auto halves = [&](const lane_sums<Value>& a, const lane_sums<Value>& b) HWY_ATTR {
            return joined(
                moved(a, b, [d](vector v, vector w) HWY_ATTR { return hn::ConcatLowerLower(d, w, v); }),
                moved(a, b, [d](vector v, vector w) HWY_ATTR { return hn::ConcatUpperUpper(d, w, v); }));
        };
        const lane_sums<Value> first = halves(pair_up(rows[0], rows[1]), pair_up(rows[2], rows[3]));
        if constexpr (width == 4) {
            return first;
        } else {
            const lane_sums<Value> second = halves(pair_up(rows[4], rows[5]), pair_up(rows[6], rows[7]));
            return joined(moved(first, second,
                                [](vector v, vector w)
                                    HWY_ATTR { return hn::OddEvenBlocks(hn::SwapAdjacentBlocks(w), v); }),
                          moved(first, second, [](vector v, vector w) HWY_ATTR {
                              return hn::OddEvenBlocks(w, hn::SwapAdjacentBlocks(v));
                          }));
        }
    }
#endif
}

/// A row that may be read beyond its end. Most rows of most matrices have no more entries than a vector, and no branch
/// then tells them apart.
template <class Value>
HWY_INLINE lane_sums<Value> sum_readable_row(const entries<Value>& from, std::size_t begin, std::size_t end) {
    constexpr lane_sums<Value>* type = nullptr;
    vector a, x;
    if (HWY_LIKELY(end - begin <= width)) {
        ask_for(from, begin + ahead);
        load_factors(from, begin, end - begin, a, x);
        return first_products(a, x, type);
    }
    load_factors(from, begin, a, x);
    lane_sums<Value> sums = first_products(a, x, type);
    std::size_t at = begin + width;
    for (; at + width <= end; at += width) {
        ask_for(from, at + ahead);
        load_factors(from, at, a, x);
        add_products(a, x, sums);
    }
    load_factors(from, at, end - at, a, x);
    add_products(a, x, sums);
    return sums;
}

/// Stores what is settled, and appends the positions of the others, counted from `first`, of the `count` rows at hand.
template <class Value>
HWY_INLINE std::size_t finish_rows(const lane_sums<Value>& sums, const std::int64_t* terms, std::size_t count,
                                   std::size_t first, Value* y, std::uint32_t* open) {
    const doubles d;
    const vector n = hn::ConvertTo(d, hn::Load(indices64(), terms));
    const mask empty = hn::Eq(n, hn::Zero(d));  // its sum is +0, which has no bound where Value is double
    Value few[width];
    Value* const found = count == width ? y + first : few;
    const mask settled = hn::Or(settle(sums, hn::Add(n, hn::Set(d, width)), found), empty);
    if (HWY_UNLIKELY(count != width)) std::copy_n(few, count, y + first);
    std::size_t opened = 0;
    std::uint64_t left = ~bits_of(settled) & ((std::uint64_t{1} << count) - 1);
    for (; HWY_UNLIKELY(left != 0); left &= left - 1)
        open[opened++] = static_cast<std::uint32_t>(first + hwy::Num0BitsBelowLS1Bit_Nonzero64(left));
    return opened;
}

template <class Value>
HWY_INLINE std::size_t rows_of(const entries<Value>& from, const std::uint64_t* offsets, std::size_t rows,
                               Value* y, std::uint32_t* open) {
    std::size_t opened = 0;
    for (std::size_t first = 0; first < rows; first += width) {
        const std::size_t count = std::min(width, rows - first);
        const std::uint64_t* const begins = offsets + first;
        lane_sums<Value> sums[width];
        HWY_ALIGN std::int64_t terms[width] = {};
        if (HWY_LIKELY(count == width && begins[width] + 2 * width <= from.readable)) {
            for (std::size_t j = 0; j < width; ++j) {
                const std::size_t lane = fold_order[j];
                terms[lane] = static_cast<std::int64_t>(begins[lane + 1] - begins[lane]);
                sums[j] = sum_readable_row(from, begins[lane], begins[lane + 1]);
            }
        } else {
            for (std::size_t j = 0; j < width; ++j) {
                const std::size_t lane = fold_order[j];
                sums[j] = no_sums<Value>();
                if (lane >= count) continue;
                terms[lane] = static_cast<std::int64_t>(begins[lane + 1] - begins[lane]);
                sums[j] = sum_row(from, begins[lane], begins[lane + 1]);
            }
        }
        opened += finish_rows(folded(sums), terms, count, first, y, open + opened);
    }
    return opened;
}

std::size_t rows_f32(const entries<float>& from, const std::uint64_t* offsets, std::size_t rows, float* y,
                     std::uint32_t* open) {
    return rows_of(from, offsets, rows, y, open);
}
std::size_t rows_f64(const entries<double>& from, const std::uint64_t* offsets, std::size_t rows, double* y,
                     std::uint32_t* open) {
    return rows_of(from, offsets, rows, y, open);
}

bool stretch_adds_nothing(const entries<double>& from, std::size_t begin, std::size_t end) {
    const doubles d;
    const vector zero = hn::Zero(d);
    for (std::size_t at = begin; at < end; at += width) {
        if (HWY_UNLIKELY(at + width > from.readable)) {
            for (; at < end; ++at)
                if (from.value[at] != 0 && from.x[from.column[at]] != 0) return false;
            return true;
        }
        vector a, x;
        load_factors(from, at, std::min(width, end - at), a, x);
        if (!hn::AllFalse(d, hn::And(hn::Ne(a, zero), hn::Ne(x, zero)))) return false;
    }
    return true;
}

std::size_t row_begins(const std::uint32_t* row, std::size_t begin, std::size_t end, std::uint64_t* found) {
    const hn::CappedTag<std::uint32_t, 16> d;
    const std::size_t lanes = hn::Lanes(d);
    std::uint32_t relative[most_scanned + 16] = {};
    std::size_t count = 0, i = begin;
    for (; i + lanes <= end; i += lanes) {
        const auto differs = hn::Ne(hn::LoadU(d, row + i), hn::LoadU(d, row + i - 1));
        if (hn::AllFalse(d, differs)) continue;
        const auto position = hn::Add(hn::Iota(d, 0), hn::Set(d, static_cast<std::uint32_t>(i - begin)));
        count += hn::CompressStore(position, differs, d, relative + count);
    }
    for (; i < end; ++i) {
        relative[count] = static_cast<std::uint32_t>(i - begin);
        count += static_cast<std::size_t>(row[i] != row[i - 1]);
    }
    for (std::size_t k = 0; k < count; ++k) found[k] = begin + relative[k];
    return count;
}

// ---- Slabs ----

/// Partial sums of many lanes, in memory.
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

template <class Value>
HWY_INLINE std::size_t tile_of(const entries<Value>& from, std::size_t first, std::size_t count,
                               std::size_t rows, std::size_t slabs, Value* y, std::uint32_t* open) {
    const doubles d;
    stored_sums<most_tile_rows> sums = {};
    const std::size_t whole = count / width * width, rest = count - whole;
    for (std::size_t k = 0; k < slabs; ++k) {
        const std::size_t slab = k * rows + first;
        lane_sums<Value> lane;
        vector a, x;
        for (std::size_t l = 0; l < whole; l += width) {
            ask_for(from, slab + rows + l);
            if (!load_padded(from, slab + l, a, x)) continue;
            load(sums, l, lane);
            add_products(a, x, lane);
            store(lane, l, sums);
        }
        if (rest != 0) {
            std::uint32_t column[width];
            Value value[width] = {};
            std::fill(std::copy_n(from.column + slab + whole, rest, column), column + width, padding);
            std::copy_n(from.value + slab + whole, rest, value);
            load(sums, whole, lane);
            if (load_padded(entries<Value>{column, value, width, from.x}, 0, a, x)) add_products(a, x, lane);
            store(lane, whole, sums);
        }
    }
    std::size_t opened = 0;
    const vector terms = hn::Set(d, static_cast<double>(slabs));
    for (std::size_t l = 0; l < count; l += width) {
        lane_sums<Value> lane;
        load(sums, l, lane);
        Value found[width];
        std::uint64_t left = ~bits_of(settle(lane, terms, found));
        const std::size_t there = std::min(width, count - l);
        std::copy_n(found, there, y + l);
        for (left &= (std::uint64_t{1} << there) - 1; left != 0; left &= left - 1)
            open[opened++] = static_cast<std::uint32_t>(l + hwy::Num0BitsBelowLS1Bit_Nonzero64(left));
    }
    return opened;
}

std::size_t tile_f32(const entries<float>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t slabs, float* y, std::uint32_t* open) {
    return tile_of(from, first, count, rows, slabs, y, open);
}
std::size_t tile_f64(const entries<double>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t slabs, double* y, std::uint32_t* open) {
    return tile_of(from, first, count, rows, slabs, y, open);
}

// ---- Blocks ----

/// The sums of the 32 lanes of a block. A cache line of columns is 16 lanes: they are summed side by side.
template <class Value>
HWY_INLINE void sum_lanes(const entries<Value>& from, std::uint64_t begin, std::uint64_t end,
                          stored_sums<block_lanes>& sums) {
    constexpr std::size_t side_by_side = 4;
    for (std::size_t l = 0; l < block_lanes; l += side_by_side * width) {
        lane_sums<Value> lane[side_by_side];
        for (lane_sums<Value>& one : lane) one = no_sums<Value>();
        for (std::uint64_t slot = begin + l; slot < end; slot += block_lanes) {
            for (std::size_t g = 0; g < side_by_side; ++g) {
                vector a, x;
                ask_for(from, slot + g * width + 2 * ahead);
                if (load_padded(from, slot + g * width, a, x)) add_products(a, x, lane[g]);
            }
        }
        for (std::size_t g = 0; g < side_by_side; ++g) store(lane[g], l + g * width, sums);
    }
}

/// Floats have no c; it stays 0.
HWY_INLINE bool settle_part(const row_part& row, float& y) {
    const doubles d;
    float all[width];
    const bool is =
        (bits_of(settle({hn::Set(d, row.s), hn::Set(d, row.t)}, hn::Set(d, row.terms), all)) & 1) != 0;
    y = all[0];
    return is;
}
HWY_INLINE bool settle_part(const row_part& row, double& y) {
    const doubles d;
    double all[width];
    const lane_sums<double> sums = {hn::Set(d, row.s), hn::Set(d, row.t), hn::Set(d, row.c)};
    const bool is = (bits_of(settle(sums, hn::Set(d, row.terms), all)) & 1) != 0;
    y = all[0];
    return is;
}
bool settle_part_f32(const row_part& row, float& y) {
    return settle_part(row, y);
}
bool settle_part_f64(const row_part& row, double& y) {
    return settle_part(row, y);
}

HWY_INLINE void add_lane(const stored_sums<block_lanes>& lanes, std::size_t l, double terms, row_part& row) {
    row.add({lanes.s[l], lanes.t[l], lanes.c[l], terms});
}

template <class Value>
HWY_INLINE row_part stretch_of(const entries<Value>& from, std::size_t begin, std::size_t end) {
    stored_sums<width> lanes = {};
    store(sum_row(from, begin, end), 0, lanes);
    row_part row;
    for (std::size_t l = 0; l < width; ++l)
        row.add({lanes.s[l], lanes.t[l], lanes.c[l], l == 0 ? static_cast<double>(end - begin) : 0});
    return row;
}
row_part stretch_f32(const entries<float>& from, std::size_t begin, std::size_t end) {
    return stretch_of(from, begin, end);
}
row_part stretch_f64(const entries<double>& from, std::size_t begin, std::size_t end) {
    return stretch_of(from, begin, end);
}

template <class Value>
HWY_INLINE void blocks_of(const entries<Value>& from, const lane_blocks& blocks, std::size_t begin,
                          std::size_t end, Value* y, std::vector<std::uint64_t>& open) {
    const doubles d;
    row_part row;                 // of the run that the block before ended with,
    std::uint64_t row_begin = 0;  // which began at this lane
    for (std::size_t b = begin; b < end; ++b) {
        const std::uint32_t* const rows = blocks.row + b * block_lanes;
        const std::uint32_t* const runs = blocks.run + b * block_lanes;
        stored_sums<block_lanes> sums = {};
        sum_lanes(from, blocks.begin[b], blocks.begin[b + 1], sums);
        const std::uint64_t columns = (blocks.begin[b + 1] - blocks.begin[b]) / block_lanes;
        const auto terms = static_cast<double>(columns);
        Value found[block_lanes];
        std::uint64_t settled = 0;
        for (std::size_t l = 0; l < block_lanes; l += width) {
            lane_sums<Value> lane;
            load(sums, l, lane);
            settled |= bits_of(settle(lane, hn::Set(d, terms), found + l)) << l;
        }
        const bool continues = b != begin && rows[0] == rows[-1];
        const bool continued = b + 1 < end && rows[block_lanes] == rows[block_lanes - 1];
        for (std::size_t l = 0; l < block_lanes && rows[l] != padding;) {
            const std::size_t run = runs[l];
            const std::uint64_t at = b * block_lanes + l;
            const bool more = continued && l + run == block_lanes;
            if (run == 1 && !more && !(continues && l == 0)) {
                y[rows[l]] = found[l];
                if ((settled >> l & 1) == 0) open.push_back(at);
            } else {
                if (!(continues && l == 0)) {
                    row = {};
                    row_begin = at;
                }
                for (std::size_t k = 0; k < run; ++k) add_lane(sums, l + k, terms, row);
                if (!more && !settle_part(row, y[rows[l]])) open.push_back(row_begin);
            }
            l += run;
        }
    }
}

void blocks_f32(const entries<float>& from, const lane_blocks& blocks, std::size_t begin, std::size_t end,
                float* y, std::vector<std::uint64_t>& open) {
    blocks_of(from, blocks, begin, end, y, open);
}
void blocks_f64(const entries<double>& from, const lane_blocks& blocks, std::size_t begin, std::size_t end,
                double* y, std::vector<std::uint64_t>& open) {
    blocks_of(from, blocks, begin, end, y, open);
}

template <class Value>
HWY_INLINE void block_part_of(const entries<Value>& from, std::size_t begin, std::size_t end,
                              row_part* lanes) {
    stored_sums<block_lanes> sums = {};
    sum_lanes(from, begin, end, sums);
    const std::size_t columns = (end - begin) / block_lanes;
    const auto terms = static_cast<double>(columns);
    for (std::size_t l = 0; l < block_lanes; ++l) add_lane(sums, l, terms, lanes[l]);
}
void block_part_f32(const entries<float>& from, std::size_t begin, std::size_t end, row_part* lanes) {
    block_part_of(from, begin, end, lanes);
}
void block_part_f64(const entries<double>& from, std::size_t begin, std::size_t end, row_part* lanes) {
    block_part_of(from, begin, end, lanes);
}

// ---- Pairs ----

/// high + low += amount; whatever does not fit is left in `lost`, as bits that are not zero.
HWY_INLINE void add_to_pair(vector amount, vector& high, vector& low, vector& lost) {
    vector rest, rest_of_rest;
    high = sum_of_two(high, amount, rest);
    low = sum_of_two(low, rest, rest_of_rest);
    lost = hn::Or(lost, rest_of_rest);
}

template <class Value>
HWY_INLINE void pairs_of(const Value* a, const Value* x, std::size_t count, pair_sums& sums) {
    const doubles d;
    const hn::Rebind<Value, doubles> v;
    const auto wide = [](auto part) HWY_ATTR {
        if constexpr (std::is_same_v<Value, float>)
            return hn::PromoteTo(doubles(), part);
        else
            return part;
    };
    vector high[8 / width], low[8 / width], lost = hn::Zero(d);
    for (std::size_t g = 0; g < 8 / width; ++g) {
        high[g] = hn::LoadU(d, sums.high + g * width);
        low[g] = hn::LoadU(d, sums.low + g * width);
    }
    for (std::size_t i = 0; i < count; i += width) {
        Value a_rest[width] = {}, x_rest[width] = {};
        const bool is_whole = i + width <= count;
        if (!is_whole) {
            std::copy_n(a + i, count - i, a_rest);
            std::copy_n(x + i, count - i, x_rest);
        }
        const vector a_lanes = wide(hn::LoadU(v, is_whole ? a + i : a_rest));
        const vector x_lanes = wide(hn::LoadU(v, is_whole ? x + i : x_rest));
        const std::size_t g = i / width % (8 / width);
        if constexpr (std::is_same_v<Value, float>) {
            add_to_pair(hn::Mul(a_lanes, x_lanes), high[g], low[g], lost);
        } else {
            vector rest;
            const vector product = product_of_two(a_lanes, x_lanes, rest);
            add_to_pair(product, high[g], low[g], lost);
            vector rest_of_rest;
            low[g] = sum_of_two(low[g], rest, rest_of_rest);
            // A product so small that `rest` may have lost digits, of factors that are not zero.
            const mask zero = hn::Or(hn::Eq(a_lanes, hn::Zero(d)), hn::Eq(x_lanes, hn::Zero(d)));
            const mask small = hn::AndNot(zero, hn::Lt(hn::Abs(product), hn::Set(d, 0x1p-900)));
            lost = hn::Or(hn::Or(lost, rest_of_rest), hn::IfThenElseZero(small, hn::Set(d, 1)));
        }
    }
    for (std::size_t g = 0; g < 8 / width; ++g) {
        hn::StoreU(high[g], d, sums.high + g * width);
        hn::StoreU(low[g], d, sums.low + g * width);
    }
    if (!hn::AllTrue(d, hn::Eq(lost, hn::Zero(d)))) sums.exact = false;
}

void pairs_f32(const float* a, const float* x, std::size_t count, pair_sums& sums) {
    pairs_of(a, x, count, sums);
}
void pairs_f64(const double* a, const double* x, std::size_t count, pair_sums& sums) {
    pairs_of(a, x, count, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives::sparse_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::primitives::sparse_detail {

HWY_EXPORT(rows_f32);
HWY_EXPORT(rows_f64);
HWY_EXPORT(row_begins);
HWY_EXPORT(stretch_adds_nothing);
HWY_EXPORT(tile_f32);
HWY_EXPORT(tile_f64);
HWY_EXPORT(blocks_f32);
HWY_EXPORT(blocks_f64);
HWY_EXPORT(settle_part_f32);
HWY_EXPORT(settle_part_f64);
HWY_EXPORT(stretch_f32);
HWY_EXPORT(stretch_f64);
HWY_EXPORT(block_part_f32);
HWY_EXPORT(block_part_f64);
HWY_EXPORT(pairs_f32);
HWY_EXPORT(pairs_f64);

std::size_t sum_rows(const entries<float>& from, const std::uint64_t* offsets, std::size_t rows, float* y,
                     std::uint32_t* open) {
    return HWY_DYNAMIC_DISPATCH(rows_f32)(from, offsets, rows, y, open);
}
std::size_t sum_rows(const entries<double>& from, const std::uint64_t* offsets, std::size_t rows, double* y,
                     std::uint32_t* open) {
    return HWY_DYNAMIC_DISPATCH(rows_f64)(from, offsets, rows, y, open);
}
bool adds_nothing(const entries<double>& from, std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(stretch_adds_nothing)(from, begin, end);
}
std::size_t find_row_begins(const std::uint32_t* row, std::size_t begin, std::size_t end,
                            std::uint64_t* found) {
    return HWY_DYNAMIC_DISPATCH(row_begins)(row, begin, end, found);
}
std::size_t sum_tile(const entries<float>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t width, float* y, std::uint32_t* open) {
    return HWY_DYNAMIC_DISPATCH(tile_f32)(from, first, count, rows, width, y, open);
}
std::size_t sum_tile(const entries<double>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t width, double* y, std::uint32_t* open) {
    return HWY_DYNAMIC_DISPATCH(tile_f64)(from, first, count, rows, width, y, open);
}
void sum_blocks(const entries<float>& from, const lane_blocks& blocks, std::size_t begin, std::size_t end,
                float* y, std::vector<std::uint64_t>& open) {
    HWY_DYNAMIC_DISPATCH(blocks_f32)(from, blocks, begin, end, y, open);
}
void sum_blocks(const entries<double>& from, const lane_blocks& blocks, std::size_t begin, std::size_t end,
                double* y, std::vector<std::uint64_t>& open) {
    HWY_DYNAMIC_DISPATCH(blocks_f64)(from, blocks, begin, end, y, open);
}
void row_part::add(const row_part& part) {
    const double sum = s + part.s, added = sum - s;
    c += part.c + ((s - (sum - added)) + (part.s - added));
    s = sum;
    t += part.t;
    terms += part.terms + 1;
}
row_part sum_stretch(const entries<float>& from, std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(stretch_f32)(from, begin, end);
}
row_part sum_stretch(const entries<double>& from, std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(stretch_f64)(from, begin, end);
}
void sum_block_part(const entries<float>& from, std::size_t begin, std::size_t end, row_part* lanes) {
    HWY_DYNAMIC_DISPATCH(block_part_f32)(from, begin, end, lanes);
}
void sum_block_part(const entries<double>& from, std::size_t begin, std::size_t end, row_part* lanes) {
    HWY_DYNAMIC_DISPATCH(block_part_f64)(from, begin, end, lanes);
}
bool settle_row(const row_part& row, float& y) {
    return HWY_DYNAMIC_DISPATCH(settle_part_f32)(row, y);
}
bool settle_row(const row_part& row, double& y) {
    return HWY_DYNAMIC_DISPATCH(settle_part_f64)(row, y);
}
void add_to_pairs(const float* a, const float* x, std::size_t count, pair_sums& sums) {
    HWY_DYNAMIC_DISPATCH(pairs_f32)(a, x, count, sums);
}
void add_to_pairs(const double* a, const double* x, std::size_t count, pair_sums& sums) {
    HWY_DYNAMIC_DISPATCH(pairs_f64)(a, x, count, sums);
}

}  // namespace quern::primitives::sparse_detail
#endif  // HWY_ONCE
