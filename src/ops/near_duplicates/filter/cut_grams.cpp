// SPDX-License-Identifier: Apache-2.0
// The grams of all positions of a text. Compiled once for each instruction set; Highway chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/near_duplicates/filter/cut_grams.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <cstring>

#include "hwy/highway.h"
#include "ops/near_duplicates/filter/gram_sketch.hpp"
#include "primitives/chosen_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::near_duplicates_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using primitives::HWY_NAMESPACE::put_chosen;

/// The same as gram_hash() and gram_table, lane by lane.
template <class D>
HWY_INLINE hn::Vec<D> grams_at(D d, const std::uint8_t* text, const gram_table& table, unsigned number_bits) {
    using lanes = hn::Vec<D>;
    const hn::Rebind<std::uint8_t, D> bytes;
    const auto units = [&](std::size_t i) { return hn::PromoteTo(d, hn::LoadU(bytes, text + i)); };
    const auto set = [&](std::uint32_t x) { return hn::Set(d, x); };
    const lanes four = hn::Or(hn::Or(units(0), hn::ShiftLeft<8>(units(1))),
                              hn::Or(hn::ShiftLeft<16>(units(2)), hn::ShiftLeft<24>(units(3))));
    const lanes three = hn::ShiftLeft<8>(four);
    const auto lead = [&](lanes x) {
        return hn::ShiftRight<32 - gram_table::lead_bits>(hn::Mul(x, set(0x9e3779b1u)));
    };
    const hn::RebindToSigned<D> signed_lanes;
    const auto word = [&](const std::vector<std::uint32_t>& words, lanes at) {
        return hn::GatherIndex(d, words.data(), hn::BitCast(signed_lanes, at));
    };
    const lanes three_at = lead(three), four_at = lead(four);
    const lanes is_three =
        hn::And(hn::Shr(word(table.three, hn::ShiftRight<5>(three_at)), hn::And(three_at, set(31))), set(1));
    const lanes code = hn::And(
        hn::Shr(word(table.longer, hn::ShiftRight<4>(four_at)), hn::ShiftLeft<1>(hn::And(four_at, set(15)))),
        set(3));
    const auto any_three = hn::Ne(is_three, hn::Zero(d)), any_longer = hn::Ne(code, hn::Zero(d));
    const lanes length =
        hn::IfThenElse(any_three, set(3), hn::IfThenElseZero(any_longer, hn::Add(code, set(3))));
    const lanes sixth = hn::IfThenElseZero(hn::Eq(length, set(6)), hn::ShiftLeft<8>(units(5)));
    const lanes rest =
        hn::IfThenElseZero(hn::Or(hn::Eq(length, set(5)), hn::Eq(length, set(6))), hn::Or(units(4), sixth));
    lanes hash = hn::Add(hn::Mul(hn::IfThenElse(any_three, three, four), set(0x9e3779b1u)),
                         hn::Add(hn::Mul(rest, set(0x85ebca6bu)), length));
    hash = hn::Xor(hash, hn::ShiftRight<15>(hash));
    hash = hn::Mul(hash, set(0x2c1b3c6du));
    hash = hn::Xor(hash, hn::ShiftRight<13>(hash));
    hash = hn::Mul(hash, set(0x297a2d39u));
    const lanes number = hn::ShiftRightSame(hash, static_cast<int>(32 - number_bits));
    return hn::IfThenElseZero(hn::Ne(length, hn::Zero(d)), hn::Or(hn::ShiftLeft<3>(number), length));
}

std::size_t cut_grams(const std::uint8_t* text, std::size_t n, const gram_table& table, unsigned number_bits,
                      gram* at, std::uint32_t* numbers) {
    const hn::CappedTag<std::uint32_t, 16> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t i = 0, count = 0;
    for (; i + lanes + max_gram_length <= n + 1; i += lanes) {  // where each gram ends within the text
        const auto grams = grams_at(d, text + i, table, number_bits);
        hn::StoreU(grams, d, at + i);
        count += put_chosen(d, hn::ShiftRight<3>(grams), hn::Ne(grams, hn::Zero(d)), numbers + count);
    }
    for (; i < n; ++i) {
        std::uint64_t units = 0;
        std::memcpy(&units, text + i, sizeof(units));
        const unsigned length = table.length(units);
        const bool is_gram = length != 0 && i + length <= n;
        const std::uint32_t number = is_gram ? gram_hash(units, length) >> (32 - number_bits) : 0;
        at[i] = is_gram ? number << 3 | length : 0;
        numbers[count] = number;
        count += is_gram ? 1 : 0;
    }
    return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::near_duplicates_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::near_duplicates_detail {

HWY_EXPORT(cut_grams);

std::size_t cut_grams(const std::uint8_t* text, std::size_t n, const gram_table& table, unsigned number_bits,
                      gram* at, std::uint32_t* numbers) {
    return HWY_DYNAMIC_DISPATCH(cut_grams)(text, n, table, number_bits, at, numbers);
}

}  // namespace quern::near_duplicates_detail
#endif
