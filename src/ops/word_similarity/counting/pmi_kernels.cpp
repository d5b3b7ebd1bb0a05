// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. Weights are computed by a plain loop, which the
// compiler vectorises: so the logarithm has a single source, base/canonical_math.hpp.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/word_similarity/counting/pmi_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <bit>
#include <cstring>

#include "hwy/highway.h"
#include "ops/word_similarity/counting/pmi.hpp"
#include "primitives/chosen_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::word_similarity_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using primitives::HWY_NAMESPACE::put_chosen;

/// Takes the counts of one block of counters.
HWY_INLINE std::size_t take_block(std::uint32_t* from, std::uint32_t first, std::uint32_t* columns,
                                  std::uint32_t* counts) {
    const hn::CappedTag<std::uint32_t, counter_block> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < counter_block; i += lanes) {
        const auto here = hn::LoadU(d, from + i);
        const auto counted = hn::Ne(here, hn::Zero(d));
        put_chosen(d, here, counted, counts + taken);
        taken += put_chosen(d, hn::Iota(d, static_cast<std::uint32_t>(first + i)), counted, columns + taken);
        hn::StoreU(hn::Zero(d), d, from + i);
    }
    return taken;
}
HWY_INLINE std::size_t take_block(std::uint64_t* from, std::uint32_t first, std::uint32_t* columns,
                                  std::uint64_t* counts) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < counter_block; ++i) {
        columns[taken] = static_cast<std::uint32_t>(first + i);
        counts[taken] = from[i];
        taken += from[i] != 0;
        from[i] = 0;
    }
    return taken;
}

/// Calls found(i) for each set flag of 8, i ascending, and clears them.
template <class Found>
HWY_INLINE void take_flags(std::uint8_t* flags, const Found& found) {
    std::uint64_t set;
    std::memcpy(&set, flags, sizeof set);
    if (set == 0) return;
    std::memset(flags, 0, sizeof set);
    for (; set != 0; set &= set - 1) found(static_cast<std::size_t>(std::countr_zero(set)) / 8);
}

template <class Count>
std::size_t take(const row_flags& flags, Count* counters, std::uint32_t* columns, Count* counts) {
    std::size_t taken = 0;
    for (std::size_t far = 0; far < flags.groups; far += 8) {
        take_flags(flags.of_groups + far, [&](std::size_t g) {
            for (std::size_t near = 0; near < blocks_in_group; near += 8) {
                const std::size_t first = (far + g) * blocks_in_group + near;
                take_flags(flags.of_blocks + first, [&](std::size_t b) {
                    const std::size_t at = (first + b) * counter_block;
                    taken += take_block(counters + at, static_cast<std::uint32_t>(at), columns + taken,
                                        counts + taken);
                });
            }
        });
    }
    return taken;
}

template <class Count>
std::size_t pmi(const weight_rule& rule, double scale, const double* bases, std::uint32_t first_context,
                std::span<const std::uint32_t> columns, const Count* counts, std::uint32_t* out_columns,
                float* out_weights) {
    constexpr std::size_t at_once = 256;
    HWY_ALIGN double weights[at_once];
    const weight_rule by = rule;  // a copy, known not to change
    std::size_t kept = 0;
    for (std::size_t begin = 0; begin < columns.size(); begin += at_once) {
        const std::size_t size = std::min(at_once, columns.size() - begin);
        const std::uint32_t* const from = columns.data() + begin;
        for (std::size_t i = 0; i < size; ++i)
            weights[i] = weight_of(by, static_cast<double>(counts[begin + i]), scale, bases[from[i]]);
        for (std::size_t i = 0; i < size; ++i) {
            out_columns[kept] = first_context + from[i];
            out_weights[kept] = static_cast<float>(weights[i]);
            kept += weights[i] > by.least;
        }
    }
    return kept;
}

std::size_t take_32(const row_flags& flags, std::uint32_t* counters, std::uint32_t* columns,
                    std::uint32_t* counts) {
    return take(flags, counters, columns, counts);
}
std::size_t take_64(const row_flags& flags, std::uint64_t* counters, std::uint32_t* columns,
                    std::uint64_t* counts) {
    return take(flags, counters, columns, counts);
}
std::size_t pmi_32(const weight_rule& rule, double scale, const double* bases, std::uint32_t first_context,
                   std::span<const std::uint32_t> columns, const std::uint32_t* counts,
                   std::uint32_t* out_columns, float* out_weights) {
    return pmi(rule, scale, bases, first_context, columns, counts, out_columns, out_weights);
}
std::size_t pmi_64(const weight_rule& rule, double scale, const double* bases, std::uint32_t first_context,
                   std::span<const std::uint32_t> columns, const std::uint64_t* counts,
                   std::uint32_t* out_columns, float* out_weights) {
    return pmi(rule, scale, bases, first_context, columns, counts, out_columns, out_weights);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::word_similarity_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::word_similarity_detail {

HWY_EXPORT(take_32);
HWY_EXPORT(take_64);
HWY_EXPORT(pmi_32);
HWY_EXPORT(pmi_64);

std::size_t take_counts(const row_flags& flags, std::uint32_t* counters, std::uint32_t* columns,
                        std::uint32_t* counts) {
    return HWY_DYNAMIC_DISPATCH(take_32)(flags, counters, columns, counts);
}
std::size_t take_counts(const row_flags& flags, std::uint64_t* counters, std::uint32_t* columns,
                        std::uint64_t* counts) {
    return HWY_DYNAMIC_DISPATCH(take_64)(flags, counters, columns, counts);
}
std::size_t pmi_counts(const weight_rule& rule, double scale, const double* bases,
                       std::uint32_t first_context, std::span<const std::uint32_t> columns,
                       const std::uint32_t* counts, std::uint32_t* out_columns, float* out_weights) {
    return HWY_DYNAMIC_DISPATCH(pmi_32)(rule, scale, bases, first_context, columns, counts, out_columns,
                                        out_weights);
}
std::size_t pmi_counts(const weight_rule& rule, double scale, const double* bases,
                       std::uint32_t first_context, std::span<const std::uint32_t> columns,
                       const std::uint64_t* counts, std::uint32_t* out_columns, float* out_weights) {
    return HWY_DYNAMIC_DISPATCH(pmi_64)(rule, scale, bases, first_context, columns, counts, out_columns,
                                        out_weights);
}

}  // namespace quern::word_similarity_detail
#endif
