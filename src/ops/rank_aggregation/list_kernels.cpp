// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. All give the same results.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rank_aggregation/list_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ops/rank_aggregation/list_kernels.hpp"
#include "primitives/chosen_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::rank_aggregation_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using primitives::HWY_NAMESPACE::put_chosen;

template <class Score>
bool scores_fall(const Score* scores, std::size_t size) {
    const hn::ScalableTag<Score> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t i = 1;
    auto all = hn::FirstN(d, lanes);
    for (; i + lanes <= size; i += lanes)
        all = hn::And(all, hn::Le(hn::LoadU(d, scores + i), hn::LoadU(d, scores + i - 1)));
    bool fall = hn::AllTrue(d, all);
    for (; i < size; ++i) fall = fall && scores[i] <= scores[i - 1];
    return fall;
}
bool floats_fall(const float* scores, std::size_t size) {
    return scores_fall(scores, size);
}
bool doubles_fall(const double* scores, std::size_t size) {
    return scores_fall(scores, size);
}

std::uint32_t greatest_id(const std::uint32_t* ids, std::size_t size) {
    const hn::ScalableTag<std::uint32_t> d;
    const std::size_t lanes = hn::Lanes(d);
    auto max = hn::Zero(d);
    std::size_t i = 0;
    for (; i + lanes <= size; i += lanes) max = hn::Max(max, hn::LoadU(d, ids + i));
    std::uint32_t greatest = hn::GetLane(hn::MaxOfLanes(d, max));
    for (; i < size; ++i) greatest = ids[i] > greatest ? ids[i] : greatest;
    return greatest;
}

std::size_t find_marked(const std::uint32_t* ids, std::size_t size, const std::uint32_t* words, int shift,
                        std::uint32_t* positions) {
    const hn::ScalableTag<std::uint32_t> d;
    const hn::RebindToSigned<decltype(d)> indices;
    const std::size_t lanes = hn::Lanes(d);
    const auto multipliers = hn::Set(d, 2654435769u), low = hn::Set(d, 31), one = hn::Set(d, 1);
    const auto seen_bits_of = [&](const std::uint32_t* from) HWY_ATTR {
        const auto bit = hn::ShiftRightSame(hn::Mul(hn::LoadU(d, from), multipliers), shift);
        const auto word = hn::GatherIndex(d, words, hn::BitCast(indices, hn::ShiftRight<5>(bit)));
        return hn::And(hn::Shr(word, hn::And(bit, low)), one);
    };
    std::size_t count = 0, i = 0;
    for (; i + 2 * lanes <= size; i += 2 * lanes) {
        const auto first = seen_bits_of(ids + i), second = seen_bits_of(ids + i + lanes);
        if (hn::AllFalse(d, hn::Eq(hn::Or(first, second), one))) continue;  // the usual case
        // Both stores fit: no more entries were found than read.
        const auto at = hn::Iota(d, static_cast<std::uint32_t>(i));
        const auto next = hn::Add(at, hn::Set(d, static_cast<std::uint32_t>(lanes)));
        count += put_chosen(d, at, hn::Eq(first, one), positions + count);
        count += put_chosen(d, next, hn::Eq(second, one), positions + count);
    }
    for (; i < size; ++i) {
        const std::uint32_t bit = filter_bit(ids[i], shift);
        positions[count] = static_cast<std::uint32_t>(i);
        count += words[bit / 32] >> (bit % 32) & 1;
    }
    return count;
}

/// As many lanes of ids as of payloads. Stores fit: no more entries were taken than read.
template <class Payload>
std::size_t take_entries(const std::uint32_t* ids, std::size_t size, const Payload* payloads,
                         std::uint32_t first, std::uint32_t count, std::uint32_t* taken_ids,
                         Payload* taken_payloads) {
    const hn::ScalableTag<Payload> d;
    const hn::RebindToUnsigned<decltype(d)> bits;  // as wide as payloads
    const hn::Rebind<std::uint32_t, decltype(d)> narrow;
    const std::size_t lanes = hn::Lanes(d);
    const auto begin = hn::Set(narrow, first), end = hn::Set(narrow, count);
    std::size_t taken = 0, i = 0;
    for (; i + lanes <= size; i += lanes) {
        const auto distance = hn::Sub(hn::LoadU(narrow, ids + i), begin);
        const auto inside = hn::Lt(distance, end);
        const auto values = hn::LoadU(d, payloads + i);
        if constexpr (sizeof(Payload) == sizeof(std::uint32_t)) {
            put_chosen(d, values, hn::RebindMask(d, inside), taken_payloads + taken);
        } else {
            const auto wide = hn::Lt(hn::PromoteTo(bits, distance), hn::Set(bits, count));
            put_chosen(d, values, hn::RebindMask(d, wide), taken_payloads + taken);
        }
        taken += put_chosen(narrow, distance, inside, taken_ids + taken);
    }
    for (; i < size; ++i) {
        const std::uint32_t distance = ids[i] - first;
        taken_ids[taken] = distance;
        taken_payloads[taken] = payloads[i];
        taken += distance < count ? 1 : 0;
    }
    return taken;
}
std::size_t take_floats(const std::uint32_t* ids, std::size_t size, const float* payloads,
                        std::uint32_t first, std::uint32_t count, std::uint32_t* taken_ids,
                        float* taken_payloads) {
    return take_entries(ids, size, payloads, first, count, taken_ids, taken_payloads);
}
std::size_t take_doubles(const std::uint32_t* ids, std::size_t size, const double* payloads,
                         std::uint32_t first, std::uint32_t count, std::uint32_t* taken_ids,
                         double* taken_payloads) {
    return take_entries(ids, size, payloads, first, count, taken_ids, taken_payloads);
}

template <class T>
HWY_INLINE void write_past_caches(const T (&from)[line_entries], T* to) {
    const hn::CappedTag<T, 64 / sizeof(T)> d;
    for (std::size_t i = 0; i < line_entries; i += hn::Lanes(d)) hn::Stream(hn::Load(d, from + i), d, to + i);
}

template <class Payload>
bool partition_entries(const std::uint32_t* ids, std::size_t size, const Payload* payloads,
                       const bucket_targets<Payload>& to) {
    constexpr std::uint32_t max = std::uint32_t{1} << bucket_bits;
    std::uint32_t* const sizes = to.sizes;
    bucket_line<Payload>* const lines = to.lines;
    for (std::size_t j = 0; j < size; ++j) {
        const std::uint32_t id = ids[j], b = id >> bucket_bits, at = sizes[b]++, in_line = at % line_entries;
        bucket_line<Payload>& line = lines[b];
        line.ids[in_line] = static_cast<std::uint16_t>(id);
        line.payloads[in_line] = payloads[j];
        if (in_line != line_entries - 1) [[likely]]
            continue;
        if (at >= max) return false;
        write_past_caches(line.ids, to.ids + to.begins[b] + at - in_line);
        write_past_caches(line.payloads, to.payloads + to.begins[b] + at - in_line);
    }
    return true;
}
bool partition_floats(const std::uint32_t* ids, std::size_t size, const float* payloads,
                      const bucket_targets<float>& to) {
    return partition_entries(ids, size, payloads, to);
}
bool partition_doubles(const std::uint32_t* ids, std::size_t size, const double* payloads,
                       const bucket_targets<double>& to) {
    return partition_entries(ids, size, payloads, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::rank_aggregation_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::rank_aggregation_detail {

HWY_EXPORT(floats_fall);
HWY_EXPORT(doubles_fall);
HWY_EXPORT(greatest_id);
HWY_EXPORT(find_marked);
HWY_EXPORT(take_floats);
HWY_EXPORT(take_doubles);
HWY_EXPORT(partition_floats);
HWY_EXPORT(partition_doubles);

bool falls(std::span<const float> scores) {
    return HWY_DYNAMIC_DISPATCH(floats_fall)(scores.data(), scores.size());
}
bool falls(std::span<const double> scores) {
    return HWY_DYNAMIC_DISPATCH(doubles_fall)(scores.data(), scores.size());
}
std::uint32_t greatest_id(std::span<const std::uint32_t> ids) {
    return HWY_DYNAMIC_DISPATCH(greatest_id)(ids.data(), ids.size());
}
std::size_t find_marked(std::span<const std::uint32_t> ids, const std::uint32_t* words, int shift,
                        std::uint32_t* positions) {
    return HWY_DYNAMIC_DISPATCH(find_marked)(ids.data(), ids.size(), words, shift, positions);
}
std::size_t take_range(std::span<const std::uint32_t> ids, const float* payloads, std::uint32_t first,
                       std::uint32_t count, std::uint32_t* taken_ids, float* taken_payloads) {
    return HWY_DYNAMIC_DISPATCH(take_floats)(ids.data(), ids.size(), payloads, first, count, taken_ids,
                                             taken_payloads);
}
std::size_t take_range(std::span<const std::uint32_t> ids, const double* payloads, std::uint32_t first,
                       std::uint32_t count, std::uint32_t* taken_ids, double* taken_payloads) {
    return HWY_DYNAMIC_DISPATCH(take_doubles)(ids.data(), ids.size(), payloads, first, count, taken_ids,
                                              taken_payloads);
}
bool partition(std::span<const std::uint32_t> ids, const float* payloads, const bucket_targets<float>& to) {
    const bool fits = HWY_DYNAMIC_DISPATCH(partition_floats)(ids.data(), ids.size(), payloads, to);
    hwy::FlushStream();  // orders only this thread's writes
    return fits;
}
bool partition(std::span<const std::uint32_t> ids, const double* payloads, const bucket_targets<double>& to) {
    const bool fits = HWY_DYNAMIC_DISPATCH(partition_doubles)(ids.data(), ids.size(), payloads, to);
    hwy::FlushStream();
    return fits;
}

}  // namespace quern::rank_aggregation_detail
#endif
