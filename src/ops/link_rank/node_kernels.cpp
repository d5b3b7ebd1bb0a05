// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. About fifty operations per vector, no branch: nodes
// without outgoing links are distributed almost at random.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/link_rank/node_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/highway.h"
#include "ops/link_rank/fixed_arithmetic.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::link_rank_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using integers = hn::ScalableTag<std::int64_t>;
using naturals = hn::RebindToUnsigned<integers>;
using reals = hn::RebindToFloat<integers>;
using contributions = hn::Rebind<std::int32_t, integers>;
using vector = hn::Vec<integers>;
using natural_vector = hn::Vec<naturals>;

/// The product of the lower halves.
HWY_INLINE natural_vector times_low(natural_vector a, natural_vector b) {
#if HWY_TARGET == HWY_SCALAR  // one lane has no even lanes
    const auto low = hn::Set(naturals(), 0xffffffffu);
    return hn::Mul(hn::And(a, low), hn::And(b, low));
#else
    const hn::Repartition<std::uint32_t, naturals> halves;
    return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
#endif
}

/// times_fraction: the upper half of a 128-bit product, and 1 where the lower half is 2^63 or more.
HWY_INLINE vector times_fractions(natural_vector factor, vector sum) {
    const integers d;
    const naturals u;
    const auto low = hn::Set(u, 0xffffffffu);
    const auto s = hn::BitCast(u, sum), s_high = hn::ShiftRight<32>(s);
    const auto f_high = hn::ShiftRight<32>(factor);
    const auto first = hn::Add(times_low(s_high, factor), hn::ShiftRight<32>(times_low(s, factor)));
    const auto second = hn::Add(times_low(s, f_high), hn::And(first, low));
    const auto upper =
        hn::Add(times_low(s_high, f_high), hn::Add(hn::ShiftRight<32>(first), hn::ShiftRight<32>(second)));
    const auto rounding = hn::And(hn::ShiftRight<31>(second), hn::Set(u, 1));
    // For a negative sum the factor was multiplied with sum + 2^64.
    const auto too_much = hn::And(factor, hn::BitCast(u, hn::BroadcastSignBit(sum)));
    return hn::BitCast(d, hn::Sub(hn::Add(upper, rounding), too_much));
}

template <class Work>
HWY_INLINE void for_each_lane(vector values, const Work& work) {
    const integers d;
    HWY_ALIGN std::int64_t lanes[hn::MaxLanes(integers())];
    hn::Store(values, d, lanes);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) work(lanes[i]);
}

std::size_t move_nodes(const node_step& step, const node_arrays& nodes, std::size_t count,
                       pass_totals& totals) {
    const integers d;
    const naturals u;
    const reals r;
    const contributions c;
    const std::size_t lanes = hn::Lanes(d);
    const auto alpha = hn::Set(u, step.alpha);
    const auto each = hn::Set(d, step.each), personalised_share = hn::Set(d, step.personalised_share);
    const auto unit = hn::Set(r, step.divisor), max = hn::Set(r, 2147483647.0);
    const int shift = static_cast<int>(step.shift), next_shift = static_cast<int>(step.next_shift);
    auto change = hn::Zero(d), greatest = hn::Zero(d), residual_mass = hn::Zero(d),
         dangling_mass = hn::Zero(d);
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto sum = hn::ShiftLeftSame(hn::LoadU(d, nodes.sums + i), shift);
        auto gain = hn::Add(times_fractions(alpha, sum), each);
        if (nodes.preference != nullptr)
            gain = hn::Add(gain, times_fractions(hn::LoadU(u, nodes.preference + i), personalised_share));
        hn::StoreU(hn::Add(hn::LoadU(d, nodes.ranks + i), gain), d, nodes.ranks + i);
        const auto residual = hn::Add(hn::LoadU(d, nodes.residuals + i), gain);
        const auto size = hn::Abs(residual);
        change = hn::Add(change, size);

        const auto degree = hn::LoadU(u, nodes.degrees + i);
        const auto none = hn::RebindMask(d, hn::Eq(degree, hn::Zero(u)));
        const auto at_least_1 = hn::Max(degree, hn::Set(u, 1));
        const auto real_degree = hn::ConvertTo(r, at_least_1);  // exact: links are fewer than 2^53
        const auto digits_less_1 = hn::Sub(hn::ShiftRight<52>(hn::BitCast(u, real_degree)), hn::Set(u, 1023));
        const auto a_link = hn::BitCast(d, hn::Shr(hn::BitCast(u, size), digits_less_1));
        greatest = hn::Max(greatest, hn::IfThenZeroElse(none, a_link));

        const auto quotient = hn::Div(hn::ConvertTo(r, residual), hn::Mul(real_degree, unit));
        const auto clamped = hn::Max(hn::Min(quotient, max), hn::Neg(max));
        const auto narrowed = hn::DemoteTo(c, hn::IfThenZeroElse(hn::RebindMask(r, none), clamped));
        hn::StoreU(narrowed, c, nodes.next_contributions + i);
        const auto by_links =
            hn::ShiftLeftSame(hn::Mul(hn::PromoteTo(d, narrowed), hn::BitCast(d, degree)), next_shift);
        const auto left = hn::IfThenZeroElse(none, hn::Sub(residual, by_links));
        dangling_mass = hn::Add(dangling_mass, hn::IfThenElseZero(none, residual));
        residual_mass = hn::Add(residual_mass, hn::Abs(left));
        hn::StoreU(left, d, nodes.residuals + i);
    }
    for_each_lane(change, [&](std::int64_t lane) { totals.change += static_cast<std::uint64_t>(lane); });
    for_each_lane(greatest, [&](std::int64_t lane) {
        totals.greatest = HWY_MAX(totals.greatest, static_cast<std::uint64_t>(lane));
    });
    for_each_lane(residual_mass,
                  [&](std::int64_t lane) { totals.residual_mass += static_cast<std::uint64_t>(lane); });
    for_each_lane(dangling_mass, [&](std::int64_t lane) { totals.dangling_mass += lane; });
    return i;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::link_rank_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::link_rank_detail {

HWY_EXPORT(move_nodes);

std::size_t move_nodes(const node_step& step, const node_arrays& nodes, std::size_t count,
                       pass_totals& totals) {
    return HWY_DYNAMIC_DISPATCH(move_nodes)(step, nodes, count, totals);
}

}  // namespace quern::link_rank_detail
#endif
