// SPDX-License-Identifier: Apache-2.0
// Myers' columns of bits (J. ACM 46, 1999), in the form of Hyyrö (2003) for columns of several words: a word of 64 rows
// takes in one step along the row above it and yields one along its last row.
//
// The words of a column depend on each other, but word w of column j needs only word w − 1 of column j and its own column j
// − 1. So the lanes of a vector are the words of one strip, each a column after the lane above. A lane's neighbour takes
// in what it yields one step later; no carry crosses a vector. (Adding the lanes of one column as one wide number instead,
// with carries by masks, costs more and has longer dependencies.)
//
// Compiled once for each instruction set; Highway chooses at run time.
#define HWY_WANT_AVX3_DL  // for its shift of two words
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/edit_distance/myers_block_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>

#include "hwy/highway.h"
#include "primitives/edit_distance/myers_block_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::primitives::edit_distance_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using words = hn::CappedTag<std::uint64_t, max_block_words>;
using vector = hn::Vec<words>;

std::size_t lanes() {
    return hn::Lanes(words());
}

/// a | ~(b | c)
HWY_INLINE vector or_nor(vector a, vector b, vector c) {
#if HWY_TARGET <= HWY_AVX3
    return vector{_mm512_ternarylogic_epi64(a.raw, b.raw, c.raw, 0xf1)};
#else
    return hn::Or(a, hn::Not(hn::Or(b, c)));
#endif
}

/// a << 1, with the top bits of b below.
HWY_INLINE vector shift_in(vector a, vector b) {
#if HWY_TARGET <= HWY_AVX3_DL
    return vector{_mm512_shldi_epi64(a.raw, b.raw, 1)};
#else
    return hn::Or(hn::Add(a, a), hn::ShiftRight<63>(b));
#endif
}

/// One column of a word of rows. Top bits of `up` and `down`: in, the step along the row above; out, along the last one.
HWY_INLINE void take_column(vector equal, vector up_above, vector down_above, vector& rises, vector& falls,
                            vector& up, vector& down) {
    const vector vertical = hn::Or(equal, falls), matches = hn::Or(equal, hn::ShiftRight<63>(down_above));
    const vector horizontal = hn::Or(hn::Xor(hn::Add(hn::And(matches, rises), rises), rises), matches);
    up = or_nor(falls, horizontal, rises);
    down = hn::And(rises, horizontal);
    const vector up_here = shift_in(up, up_above), down_here = shift_in(down, down_above);
    rises = or_nor(down_here, vertical, up_here);
    falls = hn::And(up_here, vertical);
}

/// In lane l the bits of the first rows of a strip, `count` in total.
HWY_INLINE vector first_rows(std::size_t count) {
    const words d;
    HWY_ALIGN std::uint64_t bits[max_block_words] = {};
    for (std::size_t w = 0; w < hn::Lanes(d); ++w) {
        const std::size_t in_word = count <= w * word_rows ? 0 : std::min(word_rows, count - w * word_rows);
        bits[w] = in_word == word_rows ? ~std::uint64_t{0} : (std::uint64_t{1} << in_word) - 1;
    }
    return hn::Load(d, bits);
}

/// Word w of the strip is in lane lanes − 1 − w, so that columns ascend with lanes and arrays of columns are read and
/// written in order.
struct sweep {
    using table = decltype(hn::SetTableIndices(words(), static_cast<const std::int64_t*>(nullptr)));

    table from_above;
    hn::Mask<words> is_first;
    vector word_of_lane;
    vector rises, falls;  ///< the rows of the lanes' columns: whether a value is the one above ± 1
    vector step_up = vector{}, step_down = vector{};  ///< along rows, into the lanes' columns

    HWY_INLINE void step(const bit_block& s, std::size_t at, std::size_t first_column) {
        const words d;
        const hn::RebindToSigned<words> positions;
        const hn::Rebind<std::uint32_t, words> codes;
        const vector code = hn::PromoteTo(d, hn::LoadU(codes, s.codes + at - first_column));
        const vector equal = hn::GatherIndex(d, s.equal, hn::BitCast(positions, hn::Add(code, word_of_lane)));
        // Not a vector from the arrays: it would wait for the stores of the previous step.
        const vector up_above =
            hn::IfThenElse(is_first, hn::Set(d, s.plus[at]), hn::TableLookupLanes(step_up, from_above));
        const vector down_above =
            hn::IfThenElse(is_first, hn::Set(d, s.minus[at]), hn::TableLookupLanes(step_down, from_above));
        take_column(equal, up_above, down_above, rises, falls, step_up, step_down);
        hn::StoreU(step_up, d, s.plus + at - first_column);
        hn::StoreU(step_down, d, s.minus + at - first_column);
    }
};

void run_bit_block(const bit_block& s) {
    const words d;
    const std::size_t after = hn::Lanes(d) - 1;  // columns of the last word after the first
    HWY_ALIGN std::int64_t neighbours[max_block_words];
    for (std::size_t l = 0; l <= after; ++l)
        neighbours[l] = static_cast<std::int64_t>(std::min(l + 1, after));
    const vector lane = hn::Iota(d, 0);
    sweep now{hn::SetTableIndices(d, neighbours),
              hn::Eq(lane, hn::Set(d, after)),
              hn::Sub(hn::Set(d, after), lane),
              hn::Zero(d),
              hn::Zero(d),
              hn::Zero(d),
              hn::Zero(d)};
    HWY_ALIGN std::int64_t turned[max_block_words];
    for (std::size_t l = 0; l <= after; ++l) turned[l] = static_cast<std::int64_t>(after - l);
    const vector falls = hn::TableLookupLanes(first_rows(s.falling), hn::SetTableIndices(d, turned));
    const vector rises = hn::Not(falls);
    now.rises = rises, now.falls = falls;
    std::size_t at = 0;
    for (; at < after; ++at) {  // lanes whose columns have not begun do not change
        now.step(s, at, after);
        const auto waiting = hn::FirstN(d, after - at);
        now.rises = hn::IfThenElse(waiting, rises, now.rises);
        now.falls = hn::IfThenElse(waiting, falls, now.falls);
    }
    for (; at < s.columns + after; ++at) now.step(s, at, after);
}

template <std::size_t Words>
HWY_INLINE void run_lanes(const simd_batch& s) {
    const words d;
    const hn::RebindToSigned<words> numbers;
    const std::size_t pairs = hn::Lanes(d);
    vector rises[Words], falls[Words];
    for (std::size_t w = 0; w < Words; ++w) {
        falls[w] = hn::LoadU(d, s.falling + w * pairs);
        rises[w] = hn::Not(falls[w]);
    }
    const auto zero = hn::Zero(numbers), one = hn::Set(numbers, 1);
    auto value = hn::LoadU(numbers, s.values), left = hn::LoadU(numbers, s.lengths);
    const auto bound = hn::LoadU(numbers, s.bounds);
    for (std::size_t j = 0; j < s.columns; ++j) {
        const auto column_of_unit = hn::BitCast(
            numbers,
            hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint32_t, words>(), s.columns_of_units + j * pairs)));
        vector up = hn::Set(d, ~std::uint64_t{0}), down = hn::Zero(d);
        for (std::size_t w = 0; w < Words; ++w) {
            const vector up_above = up, down_above = down;
            take_column(hn::GatherIndex(d, s.equal + w * pairs, column_of_unit), up_above, down_above,
                        rises[w], falls[w], up, down);
        }
        const auto change = hn::BitCast(numbers, hn::Sub(hn::ShiftRight<63>(up), hn::ShiftRight<63>(down)));
        value = hn::Add(value, hn::IfThenElseZero(hn::Gt(left, zero), change));
        left = hn::Sub(left, one);
        // A column lowers a value by at most one.
        if (j % 8 == 7 &&
            hn::AllTrue(numbers, hn::Or(hn::Lt(left, one), hn::Gt(value, hn::Add(bound, left)))))
            break;
    }
    hn::StoreU(value, numbers, s.values);
    for (std::size_t i = 0; i < 256 * Words; ++i) hn::StoreU(hn::Zero(d), d, s.equal + i * pairs);
}
void run_simd_batch(const simd_batch& s) {
    return s.words == 1 ? run_lanes<1>(s) : run_lanes<2>(s);
}

void scale_codes(const std::uint8_t* units, std::size_t count, std::uint32_t* codes) {
    const hn::ScalableTag<std::uint32_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> bytes;
    const auto factor = static_cast<std::uint32_t>(lanes());
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
        hn::StoreU(hn::Mul(hn::PromoteTo(d, hn::LoadU(bytes, units + i)), hn::Set(d, factor)), d, codes + i);
    for (; i < count; ++i) codes[i] = units[i] * factor;
}

void pack_top_bits(const std::uint64_t* from, std::size_t count, std::uint64_t* bits) {
    const words d;
    const hn::RebindToSigned<words> numbers;
    for (std::size_t begin = 0; begin < count; begin += 64) {
        const std::size_t here = std::min<std::size_t>(64, count - begin);
        std::uint64_t packed = 0;
        std::size_t i = 0;
        for (; i + hn::Lanes(d) <= here; i += hn::Lanes(d)) {
            const auto v = hn::BitCast(numbers, hn::LoadU(d, from + begin + i));
            std::uint8_t mask[8] = {};
            hn::StoreMaskBits(numbers, hn::Lt(v, hn::Zero(numbers)), mask);
            packed |= std::uint64_t{mask[0]} << i;
        }
        for (; i < here; ++i) packed |= from[begin + i] >> 63 << i;
        bits[begin / 64] = packed;
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives::edit_distance_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::primitives::edit_distance_detail {

HWY_EXPORT(lanes);
HWY_EXPORT(run_bit_block);
HWY_EXPORT(run_simd_batch);
HWY_EXPORT(scale_codes);
HWY_EXPORT(pack_top_bits);

std::size_t block_words() {
    return HWY_DYNAMIC_DISPATCH(lanes)();
}
void run_bit_block(const bit_block& s) {
    HWY_DYNAMIC_DISPATCH(run_bit_block)(s);
}
void run_simd_batch(const simd_batch& s) {
    HWY_DYNAMIC_DISPATCH(run_simd_batch)(s);
}
void scale_codes(const std::uint8_t* units, std::size_t count, std::uint32_t* codes) {
    HWY_DYNAMIC_DISPATCH(scale_codes)(units, count, codes);
}
void pack_top_bits(const std::uint64_t* words, std::size_t count, std::uint64_t* bits) {
    HWY_DYNAMIC_DISPATCH(pack_top_bits)(words, count, bits);
}

}  // namespace quern::primitives::edit_distance_detail
#endif  // HWY_ONCE
