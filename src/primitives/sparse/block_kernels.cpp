// SPDX-License-Identifier: Apache-2.0
// Sums of the lanes of brcp's blocks, of rows in parts, and of pairs of doubles. Compiled once for each instruction set; Highway
// chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/sparse/block_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "primitives/sparse/lane_sums-inl.hpp"
#include "primitives/sparse/sum_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::primitives::sparse_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- Blocks ----

/// The sums of the 32 lanes of a block. A cache line of columns is 16 lanes, which are summed in parallel.
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

/// Rows of so few entries often have sums halfway between two Values. The sums of floats that know this cost little more.
template <class Value>
constexpr std::uint64_t few_entries = std::is_same_v<Value, float> ? 32 : 8;

/// Whether each row of the block has one lane.
HWY_INLINE bool has_whole_rows(const std::uint32_t* runs) {
    const hn::CappedTag<std::uint32_t, 16> d;
    auto longest = hn::Zero(d);
    for (std::size_t l = 0; l < block_lanes; l += hn::Lanes(d))
        longest = hn::Max(longest, hn::LoadU(d, runs + l));
    return hn::AllFalse(d, hn::Gt(longest, hn::Set(d, 1)));
}

/// A block of whole rows of few entries, with sums that know whether they are exact. Stores the lanes' Values, and returns those
/// that are settled.
template <class Value>
HWY_INLINE std::uint64_t sum_short_rows(const entries<Value>& from, std::uint64_t begin, std::uint64_t end,
                                        Value* y) {
    constexpr std::size_t side_by_side = 4;
    std::uint64_t settled = 0;
    for (std::size_t l = 0; l < block_lanes; l += side_by_side * width) {
        checked_sums<Value> lane[side_by_side];
        for (std::size_t g = 0; g < side_by_side; ++g) {
            vector a, x;
            ask_for(from, begin + l + g * width + 2 * ahead);
            lane[g] = load_padded(from, begin + l + g * width, a, x) ? checked_products(a, x, Value())
                                                                     : no_checked_sums<Value>();
        }
        for (std::uint64_t slot = begin + l + block_lanes; slot < end; slot += block_lanes) {
            for (std::size_t g = 0; g < side_by_side; ++g) {
                vector a, x;
                ask_for(from, slot + g * width + 2 * ahead);
                if (load_padded(from, slot + g * width, a, x)) add_checked(a, x, lane[g]);
            }
        }
        for (std::size_t g = 0; g < side_by_side; ++g)
            settled |= bits_of(settle(lane[g], y + l + g * width)) << (l + g * width);
    }
    return settled;
}

/// The lanes `left` of the width from `begin` on again, with sums that know whether they are exact. Stores these in y, and
/// returns their lanes.
template <class Value>
HWY_INLINE std::uint64_t settle_exact(const entries<Value>& from, std::uint64_t begin, std::uint64_t end,
                                      std::uint64_t left, Value* y) {
    checked_sums<Value> sums = no_checked_sums<Value>();
    for (std::uint64_t slot = begin; slot < end; slot += block_lanes) {
        vector a, x;
        if (load_padded(from, slot, a, x)) add_checked(a, x, sums);
    }
    return settle_checked(sums, left, y);
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
HWY_INLINE row_part range_of(const entries<Value>& from, std::size_t begin, std::size_t end) {
    stored_sums<width> lanes = {};
    store(sum_row(from, begin, end), 0, lanes);
    row_part row;
    for (std::size_t l = 0; l < width; ++l)
        row.add({lanes.s[l], lanes.t[l], lanes.c[l], l == 0 ? static_cast<double>(end - begin) : 0});
    return row;
}
row_part range_f32(const entries<float>& from, std::size_t begin, std::size_t end) {
    return range_of(from, begin, end);
}
row_part range_f64(const entries<double>& from, std::size_t begin, std::size_t end) {
    return range_of(from, begin, end);
}

template <class Value>
HWY_INLINE void blocks_of(const entries<Value>& from, const lane_blocks& blocks, std::size_t begin,
                          std::size_t end, Value* y, std::vector<std::uint64_t>& open) {
    const doubles d;
    row_part row;                 // of the run that ended the previous block,
    std::uint64_t row_begin = 0;  // which began at this lane
    for (std::size_t b = begin; b < end; ++b) {
        const std::uint32_t* const rows = blocks.row + b * block_lanes;
        const std::uint32_t* const runs = blocks.run + b * block_lanes;
        const bool continues = b != begin && rows[0] == rows[-1];
        const bool continued = b + 1 < end && rows[block_lanes] == rows[block_lanes - 1];
        if (blocks.begin[b + 1] - blocks.begin[b] <= few_entries<Value> * block_lanes && !continues &&
            !continued && has_whole_rows(runs)) {
            Value found[block_lanes];
            const std::uint64_t settled = sum_short_rows(from, blocks.begin[b], blocks.begin[b + 1], found);
            if (HWY_LIKELY(settled == 0xffffffff && rows[block_lanes - 1] != padding)) {
                for (std::size_t l = 0; l < block_lanes; ++l) y[rows[l]] = found[l];
                continue;
            }
            for (std::size_t l = 0; l < block_lanes && rows[l] != padding; ++l) {
                y[rows[l]] = found[l];
                if (HWY_UNLIKELY((settled >> l & 1) == 0)) open.push_back(b * block_lanes + l);
            }
            continue;
        }
        stored_sums<block_lanes> sums = {};
        sum_lanes(from, blocks.begin[b], blocks.begin[b + 1], sums);
        const std::uint64_t columns = (blocks.begin[b + 1] - blocks.begin[b]) / block_lanes;
        const auto terms = static_cast<double>(columns);
        Value found[block_lanes];
        std::uint64_t settled = 0;
        for (std::size_t l = 0; l < block_lanes; l += width) {
            lane_sums<Value> lane;
            load(sums, l, lane);
            std::uint64_t here = bits_of(settle(lane, hn::Set(d, terms), found + l));
            constexpr std::uint64_t all = (std::uint64_t{1} << width) - 1;
            if (HWY_UNLIKELY(here != all))
                here |= settle_exact(from, blocks.begin[b] + l, blocks.begin[b + 1], ~here & all, found + l);
            settled |= here << l;
        }
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

/// high + low += amount; the part that does not fit is left in `lost`, as non-zero bits.
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

HWY_EXPORT(blocks_f32);
HWY_EXPORT(blocks_f64);
HWY_EXPORT(settle_part_f32);
HWY_EXPORT(settle_part_f64);
HWY_EXPORT(range_f32);
HWY_EXPORT(range_f64);
HWY_EXPORT(block_part_f32);
HWY_EXPORT(block_part_f64);
HWY_EXPORT(pairs_f32);
HWY_EXPORT(pairs_f64);

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
row_part sum_range(const entries<float>& from, std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(range_f32)(from, begin, end);
}
row_part sum_range(const entries<double>& from, std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(range_f64)(from, begin, end);
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
