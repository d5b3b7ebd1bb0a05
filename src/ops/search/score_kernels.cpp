// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. No operation here is fused or reordered: tests
// compare the bits of every instruction set of the test machine with the scalar functions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/search/score_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/highway.h"
#include "ops/search/score_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::search_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using doubles = hn::ScalableTag<double>;
using words64 = hn::RebindToUnsigned<doubles>;
using integers64 = hn::RebindToSigned<doubles>;
using words32 = hn::Rebind<std::uint32_t, doubles>;
using vector = hn::Vec<doubles>;

// Exact for every 32-bit number: its bits below those of 2^52, minus 2^52.
HWY_INLINE vector load_as_double(const std::uint32_t* numbers) {
    const doubles d;
    const vector shift = hn::Set(d, 0x1p52);
    const auto wide = hn::PromoteTo(words64(), hn::LoadU(words32(), numbers));
    return hn::Sub(hn::BitCast(d, hn::Or(wide, hn::BitCast(words64(), shift))), shift);
}

HWY_INLINE hn::Vec<integers64> to_fixed(vector x) {
    const doubles d;
    const vector shift = hn::Set(d, 0x1.8p52);
    const vector shifted = hn::Add(hn::Mul(x, hn::Set(d, 0x1p32)), shift);
    return hn::Sub(hn::BitCast(integers64(), shifted), hn::BitCast(integers64(), shift));
}

HWY_INLINE void store_positive(vector x, std::int64_t* parts) {
    const integers64 i;
    hn::StoreU(hn::Max(to_fixed(x), hn::Set(i, 1)), i, parts);
}

// canonical_log_normal of base/canonical_math.hpp, lane by lane.
HWY_INLINE vector log_normal(vector x) {
    const doubles d;
    const words64 u;
    const auto constant = [d](double value) { return hn::Set(d, value); };
    const auto bits = hn::BitCast(u, x);
    const auto bias = hn::Set(u, 1024);
    const auto exponent =
        hn::ShiftRight<52>(hn::Add(hn::Sub(bits, hn::Set(u, 0x3fe6a09e667f3bcdu)), hn::ShiftLeft<52>(bias)));
    const auto k_bits = hn::Sub(exponent, bias);
    const vector m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(k_bits)));
    const vector integer_shift = constant(0x1.8p52);
    const vector k = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(u, integer_shift), k_bits)), integer_shift);

    const vector f = hn::Sub(m, constant(1.0));
    const vector s = hn::Div(f, hn::Add(constant(2.0), f));
    const vector z = hn::Mul(s, s);
    vector r = constant(0x1.2b584aae78c14p-3);
    for (const double p : {0x1.39fe606542dbap-3, 0x1.7462b4ab2ef6cp-3, 0x1.c71c62e5800a1p-3,
                           0x1.2492492df148dp-2, 0x1.99999999952e2p-2, 0x1.5555555555558p-1})
        r = hn::Add(constant(p), hn::Mul(z, r));
    r = hn::Mul(z, r);
    const vector h = hn::Mul(hn::Mul(constant(0.5), f), f);
    const vector small = hn::Add(hn::Mul(s, hn::Add(h, r)), hn::Mul(k, constant(0x1.3de6af278ece6p-42)));
    return hn::Sub(hn::Mul(k, constant(0x1.62e42fefa3000p-1)), hn::Sub(hn::Sub(h, small), f));
}

void bm25_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
                double weight, double flat, double slope, std::int64_t* parts) {
    const doubles d;
    const vector weights = hn::Set(d, weight), flats = hn::Set(d, flat), slopes = hn::Set(d, slope);
    for (std::size_t i = 0; i < size; i += hn::Lanes(d)) {
        const vector f = load_as_double(frequencies + i), length = load_as_double(lengths + i);
        const vector k = hn::Add(flats, hn::Mul(slopes, length));
        store_positive(hn::Div(hn::Mul(weights, f), hn::Add(f, k)), parts + i);
    }
}

void impact_parts(const std::uint32_t* frequencies, std::size_t size, double unit, std::int64_t* parts) {
    const doubles d;
    const vector units = hn::Set(d, unit);
    for (std::size_t i = 0; i < size; i += hn::Lanes(d))
        store_positive(hn::Mul(units, load_as_double(frequencies + i)), parts + i);
}

void jelinek_mercer_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
                          double ratio, std::int64_t* parts) {
    const doubles d;
    const vector ratios = hn::Set(d, ratio), one = hn::Set(d, 1.0);
    for (std::size_t i = 0; i < size; i += hn::Lanes(d)) {
        const vector f = load_as_double(frequencies + i), length = hn::Max(load_as_double(lengths + i), one);
        store_positive(log_normal(hn::Add(one, hn::Div(hn::Mul(ratios, f), length))), parts + i);
    }
}

void dirichlet_parts(const std::uint32_t* frequencies, std::size_t size, double prior, std::int64_t* parts) {
    const doubles d;
    const vector priors = hn::Set(d, prior), one = hn::Set(d, 1.0);
    for (std::size_t i = 0; i < size; i += hn::Lanes(d))
        store_positive(log_normal(hn::Add(one, hn::Div(load_as_double(frequencies + i), priors))), parts + i);
}

void two_stage_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
                     double ratio, double mu, double rest, std::int64_t* parts) {
    const doubles d;
    const vector ratios = hn::Set(d, ratio), mus = hn::Set(d, mu), rests = hn::Set(d, rest),
                 one = hn::Set(d, 1.0);
    for (std::size_t i = 0; i < size; i += hn::Lanes(d)) {
        const vector f = load_as_double(frequencies + i), length = load_as_double(lengths + i);
        const vector odds = hn::Div(hn::Mul(ratios, f), hn::Add(mus, hn::Mul(rests, length)));
        store_positive(log_normal(hn::Add(one, odds)), parts + i);
    }
}

// normalised_frequency of probabilistic_scorers.hpp, lane by lane.
HWY_INLINE vector normalised_frequency(const std::uint32_t* frequency, const std::uint32_t* length,
                                       double norm) {
    const doubles d;
    const vector one = hn::Set(d, 1.0), l = hn::Max(load_as_double(length), one);
    const vector bits =
        hn::Mul(log_normal(hn::Add(one, hn::Div(hn::Set(d, norm), l))), hn::Set(d, 0x1.71547652b82fep+0));
    return hn::Max(hn::Mul(load_as_double(frequency), bits), hn::Set(d, 0x1p-60));
}

void pl2_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size, double norm,
               double mean, double shift, std::int64_t* parts) {
    const doubles d;
    const auto constant = [d](double value) { return hn::Set(d, value); };
    for (std::size_t i = 0; i < size; i += hn::Lanes(d)) {
        const vector t = normalised_frequency(frequencies + i, lengths + i, norm), log_t = log_normal(t);
        const vector half = hn::Mul(constant(0.5), hn::Add(log_t, constant(0x1.d67f1c864beb5p+0)));
        const vector nats =
            hn::Add(hn::Mul(t, hn::Sub(log_t, constant(shift))), hn::Add(constant(mean), half));
        const vector part = hn::Div(hn::Mul(nats, constant(0x1.71547652b82fep+0)), hn::Add(t, constant(1.0)));
        store_positive(hn::Min(part, constant(4095)), parts + i);
    }
}

void inl2_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size, double norm,
                double idf, std::int64_t* parts) {
    const doubles d;
    for (std::size_t i = 0; i < size; i += hn::Lanes(d)) {
        const vector t = normalised_frequency(frequencies + i, lengths + i, norm);
        store_positive(hn::Div(hn::Mul(hn::Set(d, idf), t), hn::Add(t, hn::Set(d, 1.0))), parts + i);
    }
}

void dirichlet_lengths(const std::uint32_t* lengths, std::size_t size, double mu, std::int64_t* parts) {
    const doubles d;
    const vector mus = hn::Set(d, mu);
    for (std::size_t i = 0; i < size; i += hn::Lanes(d))
        hn::StoreU(to_fixed(log_normal(hn::Add(load_as_double(lengths + i), mus))), integers64(), parts + i);
}

void two_stage_lengths(const std::uint32_t* lengths, std::size_t size, double mu, double rest,
                       std::int64_t* parts) {
    const doubles d;
    const vector mus = hn::Set(d, mu), rests = hn::Set(d, rest);
    for (std::size_t i = 0; i < size; i += hn::Lanes(d)) {
        const vector length = load_as_double(lengths + i);
        const vector ratio = hn::Div(hn::Add(length, mus), hn::Add(mus, hn::Mul(rests, length)));
        hn::StoreU(to_fixed(log_normal(ratio)), integers64(), parts + i);
    }
}

// Correctly rounded, like a cast: its upper and lower halves are exact, their sum is rounded once.
HWY_INLINE vector load_as_double(const std::uint64_t* numbers) {
    const doubles d;
    const words64 u;
    const auto all = hn::LoadU(u, numbers);
    const vector upper = hn::Set(d, 0x1p84), lower = hn::Set(d, 0x1p52);
    const auto high = hn::Or(hn::ShiftRight<32>(all), hn::BitCast(u, upper));
    const auto low = hn::Or(hn::And(all, hn::Set(u, 0xffffffffU)), hn::BitCast(u, lower));
    return hn::Add(hn::Sub(hn::BitCast(d, high), upper), hn::Sub(hn::BitCast(d, low), lower));
}

void prior_parts(const std::uint64_t* ranks, std::size_t size, double unit, double weight,
                 std::int64_t* parts) {
    const doubles d;
    const vector units = hn::Set(d, unit), weights = hn::Set(d, weight), one = hn::Set(d, 1.0);
    for (std::size_t i = 0; i < size; i += hn::Lanes(d)) {
        const vector x = hn::Mul(hn::Max(load_as_double(ranks + i), one), units);
        hn::StoreU(to_fixed(hn::Mul(weights, log_normal(x))), integers64(), parts + i);
    }
}

std::size_t collect_above(const std::int64_t* sums, std::size_t size, std::int64_t limit,
                          std::uint32_t* positions) {
    const integers64 d;
    const auto limits = hn::Set(d, limit);
    const std::size_t lanes = hn::Lanes(d), group = 4 * lanes;
    std::size_t count = 0, i = 0;
    for (; i + group <= size; i += group) {
        // Usually nothing is above: one test for four vectors.
        const auto max =
            hn::Max(hn::Max(hn::LoadU(d, sums + i), hn::LoadU(d, sums + i + lanes)),
                    hn::Max(hn::LoadU(d, sums + i + 2 * lanes), hn::LoadU(d, sums + i + 3 * lanes)));
        if (hn::AllFalse(d, hn::Gt(max, limits))) continue;
        for (std::size_t j = i; j < i + group; ++j) {
            positions[count] = static_cast<std::uint32_t>(j);
            count += sums[j] > limit;
        }
    }
    for (; i < size; ++i) {
        positions[count] = static_cast<std::uint32_t>(i);
        count += sums[i] > limit;
    }
    return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::search_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::search_detail {

HWY_EXPORT(bm25_parts);
HWY_EXPORT(impact_parts);
HWY_EXPORT(jelinek_mercer_parts);
HWY_EXPORT(dirichlet_parts);
HWY_EXPORT(two_stage_parts);
HWY_EXPORT(pl2_parts);
HWY_EXPORT(inl2_parts);
HWY_EXPORT(dirichlet_lengths);
HWY_EXPORT(two_stage_lengths);
HWY_EXPORT(prior_parts);
HWY_EXPORT(collect_above);

void bm25_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
                double weight, double flat, double slope, std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(bm25_parts)(frequencies, lengths, size, weight, flat, slope, parts);
}
void impact_parts(const std::uint32_t* frequencies, std::size_t size, double unit, std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(impact_parts)(frequencies, size, unit, parts);
}
void jelinek_mercer_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
                          double ratio, std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(jelinek_mercer_parts)(frequencies, lengths, size, ratio, parts);
}
void pl2_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size, double norm,
               double mean, double shift, std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(pl2_parts)(frequencies, lengths, size, norm, mean, shift, parts);
}
void inl2_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size, double norm,
                double idf, std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(inl2_parts)(frequencies, lengths, size, norm, idf, parts);
}
void dirichlet_parts(const std::uint32_t* frequencies, std::size_t size, double prior, std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(dirichlet_parts)(frequencies, size, prior, parts);
}
void two_stage_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
                     double ratio, double mu, double rest, std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(two_stage_parts)(frequencies, lengths, size, ratio, mu, rest, parts);
}
void dirichlet_lengths(const std::uint32_t* lengths, std::size_t size, double mu, std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(dirichlet_lengths)(lengths, size, mu, parts);
}
void two_stage_lengths(const std::uint32_t* lengths, std::size_t size, double mu, double rest,
                       std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(two_stage_lengths)(lengths, size, mu, rest, parts);
}
void prior_parts(const std::uint64_t* ranks, std::size_t size, double unit, double weight,
                 std::int64_t* parts) {
    HWY_DYNAMIC_DISPATCH(prior_parts)(ranks, size, unit, weight, parts);
}
std::size_t collect_above(const std::int64_t* sums, std::size_t size, std::int64_t limit,
                          std::uint32_t* positions) {
    return HWY_DYNAMIC_DISPATCH(collect_above)(sums, size, limit, positions);
}

}  // namespace quern::search_detail
#endif
