// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. Hardly any sum reaches its threshold, so four
// vectors share a branch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/word_similarity/bounds/bound_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/highway.h"
#include "ops/word_similarity/bounds/bound_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::word_similarity_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using floats = hn::CappedTag<float, kernel_group / 4>;
using signed_words = hn::RebindToSigned<floats>;
using unsigned_words = hn::RebindToUnsigned<floats>;

HWY_INLINE hn::Vec<floats> load_sums(const std::uint32_t* sums) {  // they have 31 bits
    return hn::ConvertTo(floats(), hn::BitCast(signed_words(), hn::LoadU(unsigned_words(), sums)));
}

using numbers = hn::Rebind<std::uint16_t, unsigned_words>;

void add_dense_sums(std::uint32_t* sums, const std::uint16_t* values, std::size_t size, std::uint16_t value) {
    const numbers n;
    const unsigned_words u;
    // 0 without the mark; with it, the sum of both.
    const auto rest = hn::Set(n, static_cast<std::uint16_t>(dense_mark - value));
    for (std::size_t i = 0; i < size; i += hn::Lanes(u)) {
        const auto terms = hn::PromoteTo(u, hn::SaturatedSub(hn::LoadU(n, values + i), rest));
        hn::StoreU(hn::Add(hn::LoadU(u, sums + i), terms), u, sums + i);
    }
}

void add_dense_products(std::uint32_t* sums, const std::uint16_t* values, std::size_t size,
                        std::uint16_t value) {
    const numbers n;
    const unsigned_words u;
    const auto factor = hn::Set(u, value);
    for (std::size_t i = 0; i < size; i += hn::Lanes(u)) {
        const auto terms = hn::Mul(hn::PromoteTo(u, hn::LoadU(n, values + i)), factor);
        hn::StoreU(hn::Add(hn::LoadU(u, sums + i), terms), u, sums + i);
    }
}

std::size_t collect_reaching(std::uint32_t* sums, const float* denominators, const float* least,
                             std::size_t size, row_bound row, std::uint32_t* positions, float* bounds) {
    const floats d;
    const unsigned_words u;
    const std::size_t lanes = hn::Lanes(d);
    const auto row_denominator = hn::Set(d, row.denominator), row_min = hn::Set(d, row.least);
    const auto margin = hn::Set(d, 1 - bound_margin), one_half = hn::Set(d, 0.5F);
    const auto reaching = [&](std::size_t i) HWY_ATTR {
        const auto score = hn::Mul(hn::Min(row_min, hn::LoadU(d, least + i)), margin);
        const auto needed = hn::Mul(score, hn::Add(row_denominator, hn::LoadU(d, denominators + i)));
        return hn::Ge(load_sums(sums + i), hn::Max(needed, one_half));
    };
    std::size_t count = 0;
    for (std::size_t i = 0; i < size; i += 4 * lanes) {
        const auto any = hn::Or(hn::Or(reaching(i), reaching(i + lanes)),
                                hn::Or(reaching(i + 2 * lanes), reaching(i + 3 * lanes)));
        if (HWY_UNLIKELY(!hn::AllFalse(d, any))) {
            for (std::size_t j = i; j < i + 4 * lanes; j += lanes) {
                const auto mask = hn::And(reaching(j), hn::FirstN(d, j < size ? size - j : 0));
                if (hn::AllFalse(d, mask)) continue;
                const auto places = hn::Iota(u, static_cast<std::uint32_t>(j));
                (void)hn::CompressBlendedStore(places, hn::RebindMask(u, mask), u, positions + count);
                const auto whole = hn::Add(row_denominator, hn::LoadU(d, denominators + j));
                const auto bound = hn::Mul(hn::Div(load_sums(sums + j), whole), hn::Set(d, 1 + bound_margin));
                count += hn::CompressBlendedStore(bound, mask, d, bounds + count);
            }
        }
        for (std::size_t j = i; j < i + 4 * lanes; j += lanes) hn::StoreU(hn::Zero(u), u, sums + j);
    }
    return count;
}

std::size_t group_maxima(const std::uint32_t* sums, const float* denominators, std::size_t size,
                         float denominator, std::size_t groups, float* maxima) {
    const floats d;
    const std::size_t lanes = hn::Lanes(d), vectors = size / lanes;
    const std::size_t rounds = (groups + lanes - 1) / lanes, each = rounds == 0 ? 0 : vectors / rounds;
    if (each < 2) return 0;
    const auto row_denominator = hn::Set(d, denominator);
    std::size_t count = 0;
    for (std::size_t first = 0; first + each <= vectors; first += each, count += lanes) {
        auto max = hn::Zero(d);
        for (std::size_t v = first; v < first + each; ++v) {
            const auto whole = hn::Add(row_denominator, hn::LoadU(d, denominators + v * lanes));
            max = hn::Max(max, hn::Div(load_sums(sums + v * lanes), whole));
        }
        hn::StoreU(max, d, maxima + count);
    }
    return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::word_similarity_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::word_similarity_detail {

HWY_EXPORT(add_dense_sums);
HWY_EXPORT(add_dense_products);
HWY_EXPORT(collect_reaching);
HWY_EXPORT(group_maxima);

void add_dense_sums(std::uint32_t* sums, const std::uint16_t* values, std::size_t size, std::uint16_t value) {
    HWY_DYNAMIC_DISPATCH(add_dense_sums)(sums, values, size, value);
}
void add_dense_products(std::uint32_t* sums, const std::uint16_t* values, std::size_t size,
                        std::uint16_t value) {
    HWY_DYNAMIC_DISPATCH(add_dense_products)(sums, values, size, value);
}
std::size_t collect_reaching(std::uint32_t* sums, const float* denominators, const float* least,
                             std::size_t size, row_bound row, std::uint32_t* positions, float* bounds) {
    return HWY_DYNAMIC_DISPATCH(collect_reaching)(sums, denominators, least, size, row, positions, bounds);
}
std::size_t group_maxima(const std::uint32_t* sums, const float* denominators, std::size_t size,
                         float denominator, std::size_t groups, float* maxima) {
    return HWY_DYNAMIC_DISPATCH(group_maxima)(sums, denominators, size, denominator, groups, maxima);
}

}  // namespace quern::word_similarity_detail
#endif
