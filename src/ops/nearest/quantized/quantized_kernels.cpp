// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. Sums of products are of integers, and bounds hold
// for any rounding (quantized_bounds.hpp), so every instruction set gives an equally good filter.
//
// With vpdpbusd a tile is 64 rows × six queries: 24 vectors of sums, four of rows, one of a query. Every vector of rows is
// used six times, every four components of a query four times: the bottleneck is the multipliers, two per cycle.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nearest/quantized/quantized_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "ops/nearest/distance/components.hpp"
#include "ops/nearest/quantized/quantized_cpu.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::nearest_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using floats = hn::CappedTag<float, 16>;
using integers = hn::RebindToSigned<floats>;
using float_vector = hn::Vec<floats>;
using integer_vector = hn::Vec<integers>;

// ---- Bounds of products ----

/// U of the rows from `row` on of a block, and of query q.
HWY_INLINE float_vector bounds_of(integer_vector products, const float* terms, std::size_t row,
                                  const coded_queries& queries, std::size_t q) {
    const floats d;
    const auto term = [&](std::size_t which)
                          HWY_ATTR { return hn::LoadU(d, terms + which * block_rows + row); };
    const float_vector scaled = hn::Mul(hn::ConvertTo(d, products), hn::Set(d, queries.scales[q]));
    const float_vector product = hn::MulAdd(scaled, term(1), term(0));
    const float_vector with_rest = hn::MulAdd(term(2), hn::Set(d, queries.sizes[q]), product);
    return hn::MulAdd(term(3), hn::Set(d, queries.rests[q]), with_rest);
}

// Consumers of the bounds of a block and a query. begin(q), then add() for the rows in turn, then end().

HWY_INLINE std::uint64_t bits_of(hn::Mask<floats> mask) {
#if HWY_TARGET == HWY_AVX3
    return mask.raw;
#else
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(floats(), mask, bytes);
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes, sizeof bits);
    return bits;
#endif
}

class masks_out {
  public:
    HWY_INLINE masks_out(const float* limits, std::uint64_t* masks, std::size_t pitch)
        : limits_(limits), masks_(masks), pitch_(pitch) {}
    HWY_INLINE void begin(std::size_t /*q*/) { below_ = 0; }
    HWY_INLINE void add(float_vector bounds, std::size_t q, std::size_t row) {
        const auto below = hn::Lt(bounds, hn::Set(floats(), limits_[q]));
        // Mostly all are; the bits of others go through memory.
        const std::uint64_t bits = HWY_TARGET != HWY_AVX3 && hn::AllTrue(floats(), below)
                                       ? (std::uint64_t{1} << hn::Lanes(floats())) - 1
                                       : bits_of(below);
        below_ |= bits << row;
    }
    HWY_INLINE void end(std::size_t q) { masks_[q * pitch_] = ~below_; }

  private:
    const float* limits_;
    std::uint64_t* masks_;
    std::size_t pitch_;
    std::uint64_t below_ = 0;  // not: at or above, because NaN is a candidate
};

/// The best of the rows lane, lane + 16, … of a block, the number of which is in its last two bits.
class best_out {
  public:
    HWY_INLINE best_out(float* best, std::size_t pitch, std::uint64_t present)
        : best_(best), pitch_(pitch), present_(present) {}
    HWY_INLINE void begin(std::size_t q) { std::fill_n(best_ + q * pitch_, best_lanes, no_limit); }
    HWY_INLINE void add(float_vector bounds, std::size_t q, std::size_t row) {
        const floats d;
        const integers n;
        const auto marked = hn::Or(hn::And(hn::BitCast(n, bounds), hn::Set(n, ~3)),
                                   hn::Set(n, static_cast<std::int32_t>(row / best_lanes)));
        float* const to = best_ + q * pitch_ + row % best_lanes;
        const std::uint64_t left = present_ >> row;
        std::uint8_t bits[8];
        std::memcpy(bits, &left, sizeof left);
        const auto values =
            hn::IfThenElse(hn::LoadMaskBits(d, bits), hn::BitCast(d, marked), hn::Set(d, no_limit));
        hn::StoreU(hn::Max(values, hn::LoadU(d, to)), d, to);
    }
    HWY_INLINE void end(std::size_t /*q*/) {}

  private:
    float* best_;
    std::size_t pitch_;
    std::uint64_t present_;
};

class bounds_out {
  public:
    HWY_INLINE explicit bounds_out(float* bounds) : bounds_(bounds) {}
    HWY_INLINE void begin(std::size_t /*q*/) {}
    HWY_INLINE void add(float_vector values, std::size_t q, std::size_t row) {
        hn::StoreU(values, floats(), bounds_ + q * block_rows + row);
    }
    HWY_INLINE void end(std::size_t /*q*/) {}

  private:
    float* bounds_;
};

// ---- Products: in pairs ----

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
/// products[64 · i + r]: of 64 rows and query q + i, two vectors of rows at a time. Of four codes of a row, the first and
/// third are the low bytes of its two numbers of 16 bits, the others the high ones: a mask and a shift widen them.
template <int Count>
HWY_INLINE void multiply(const std::uint8_t* codes, std::size_t padded, const coded_queries& queries,
                         std::size_t q, std::int32_t* products) {
    using numbers = hn::RepartitionToNarrow<integers>;  // 16 bits, as wide as `integers`
    const integers d;
    const numbers n;
    const hn::RebindToUnsigned<numbers> unsigned_n;
    const hn::Repartition<std::uint8_t, numbers> bytes;
    const std::size_t lanes = hn::Lanes(d);  // rows per vector
    const auto low_bytes = hn::Set(unsigned_n, 0xff);
    const auto even = [&](auto rows) HWY_ATTR {
        return hn::BitCast(n, hn::And(hn::BitCast(unsigned_n, rows), low_bytes));
    };
    const auto odd = [&](auto rows) HWY_ATTR {
        return hn::BitCast(n, hn::ShiftRight<8>(hn::BitCast(unsigned_n, rows)));
    };
    // Two factors of a query, for all rows. On x86 a lane adds the products of neighbours.
    const auto add_two = [&](integer_vector sums, auto rows, const std::int16_t* factors) HWY_ATTR {
        std::int32_t two = 0;
        std::memcpy(&two, factors, sizeof two);
        integer_vector unused = hn::Zero(d);
        return hn::ReorderWidenMulAccumulate(d, rows, hn::BitCast(n, hn::Set(d, two)), sums, unused);
    };
    const std::int16_t* const query = queries.wide_codes + q * padded;
    for (std::size_t row = 0; row < block_rows; row += 2 * lanes) {
        integer_vector near[Count], far[Count];
        HWY_UNROLL(6)
        for (int i = 0; i < Count; ++i) near[i] = far[i] = hn::Set(d, queries.starts[q + i]);
        for (std::size_t j = 0; j < padded; j += 4) {
            const std::uint8_t* const at = codes + j * block_rows + 4 * row;
            const auto near_rows = hn::LoadU(bytes, at), far_rows = hn::LoadU(bytes, at + 4 * lanes);
            const auto near_even = even(near_rows), near_odd = odd(near_rows);
            const auto far_even = even(far_rows), far_odd = odd(far_rows);
            HWY_UNROLL(6)
            for (int i = 0; i < Count; ++i) {
                const std::int16_t* const factors = query + static_cast<std::size_t>(i) * padded + j;
                near[i] = add_two(near[i], near_even, factors);
                far[i] = add_two(far[i], far_even, factors);
                near[i] = add_two(near[i], near_odd, factors + 2);
                far[i] = add_two(far[i], far_odd, factors + 2);
            }
        }
        HWY_UNROLL(6)
        for (std::size_t i = 0; i < Count; ++i) {
            hn::StoreU(near[i], d, products + i * block_rows + row);
            hn::StoreU(far[i], d, products + i * block_rows + row + lanes);
        }
    }
}
#else
template <int Count>
HWY_INLINE void multiply(const std::uint8_t* codes, std::size_t padded, const coded_queries& queries,
                         std::size_t q, std::int32_t* products) {
    for (int i = 0; i < Count; ++i) {
        const std::int16_t* const query = queries.wide_codes + (q + i) * padded;
        std::int32_t* const to = products + static_cast<std::size_t>(i) * block_rows;
        std::fill_n(to, block_rows, queries.starts[q + i]);
        for (std::size_t j = 0; j < padded; ++j) {
            const std::uint8_t* const at = codes + j / 4 * 4 * block_rows + j % 4;
            for (std::size_t r = 0; r < block_rows; ++r)
                to[r] += static_cast<std::int32_t>(at[4 * r]) * query[wide_place(j)];
        }
    }
}
#endif

// ---- Products: in sums of 16 bits ----

#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define QUERN_SIMD_HAS_SHORT_SUMS 1
using bytes_vector = hn::Vec<hn::Repartition<std::uint8_t, integers>>;
using shorts = hn::RepartitionToNarrow<integers>;
using shorts_vector = hn::Vec<shorts>;

/// A lane of 16 bits: the sum of two products, unsigned by signed. Highway 1.0 does not have the instruction.
HWY_INLINE shorts_vector multiply_bytes(bytes_vector rows, integer_vector factors) {
#if HWY_TARGET == HWY_AVX3
    return shorts_vector{_mm512_maddubs_epi16(rows.raw, factors.raw)};
#elif HWY_TARGET == HWY_AVX2
    return shorts_vector{_mm256_maddubs_epi16(rows.raw, factors.raw)};
#else
    return shorts_vector{_mm_maddubs_epi16(rows.raw, factors.raw)};
#endif
}

HWY_INLINE integer_vector four_codes(const std::int8_t* codes) {
    std::int32_t four = 0;
    std::memcpy(&four, codes, sizeof four);
    return hn::Set(integers(), four);
}

/// products[64 · i + r], as multiply(), two vectors of rows at a time. Two sums of two products are added in 16 bits, then
/// widened.
template <int Count>
HWY_INLINE void multiply_short(const std::uint8_t* codes, std::size_t padded, const coded_queries& queries,
                               std::size_t q, std::int32_t* products) {
    const integers d;
    const shorts n;
    const hn::Repartition<std::uint8_t, integers> bytes;
    const std::size_t lanes = hn::Lanes(d);  // rows per vector
    const auto ones = hn::Set(n, 1);
    const auto add_halves = [&](integer_vector sums, shorts_vector two) HWY_ATTR {
        integer_vector unused = hn::Zero(d);
        return hn::ReorderWidenMulAccumulate(d, two, ones, sums, unused);
    };
    const std::int8_t* const query = queries.codes + q * padded;
    for (std::size_t row = 0; row < block_rows; row += 2 * lanes) {
        integer_vector near[Count], far[Count];
        HWY_UNROLL(6)
        for (int i = 0; i < Count; ++i) near[i] = far[i] = hn::Set(d, queries.starts[q + i]);
        std::size_t j = 0;
        for (; j + 8 <= padded; j += 8) {
            const std::uint8_t* const at = codes + j * block_rows + 4 * row;
            const std::uint8_t* const next = at + 4 * block_rows;
            const auto near_rows = hn::LoadU(bytes, at), far_rows = hn::LoadU(bytes, at + 4 * lanes);
            const auto near_next = hn::LoadU(bytes, next), far_next = hn::LoadU(bytes, next + 4 * lanes);
            HWY_UNROLL(6)
            for (int i = 0; i < Count; ++i) {
                const std::int8_t* const factors = query + static_cast<std::size_t>(i) * padded + j;
                const auto four = four_codes(factors), next_four = four_codes(factors + 4);
                near[i] = add_halves(
                    near[i], hn::Add(multiply_bytes(near_rows, four), multiply_bytes(near_next, next_four)));
                far[i] = add_halves(
                    far[i], hn::Add(multiply_bytes(far_rows, four), multiply_bytes(far_next, next_four)));
            }
        }
        if (j < padded) {
            const std::uint8_t* const at = codes + j * block_rows + 4 * row;
            for (int i = 0; i < Count; ++i) {
                const auto four = four_codes(query + static_cast<std::size_t>(i) * padded + j);
                near[i] = add_halves(near[i], multiply_bytes(hn::LoadU(bytes, at), four));
                far[i] = add_halves(far[i], multiply_bytes(hn::LoadU(bytes, at + 4 * lanes), four));
            }
        }
        HWY_UNROLL(6)
        for (std::size_t i = 0; i < Count; ++i) {
            hn::StoreU(near[i], d, products + i * block_rows + row);
            hn::StoreU(far[i], d, products + i * block_rows + row + lanes);
        }
    }
}
#else
#define QUERN_SIMD_HAS_SHORT_SUMS 0
#endif

/// 64 rows × Count queries from q on.
template <product_method Method, int Count, class Out>
HWY_INLINE void take_rows(const std::uint8_t* codes, const float* terms, std::size_t padded,
                          const coded_queries& queries, std::size_t q, Out out) {
    const integers d;
    HWY_ALIGN std::int32_t products[Count * block_rows];
#if QUERN_SIMD_HAS_SHORT_SUMS
    if constexpr (Method == product_method::short_sums) {
        multiply_short<Count>(codes, padded, queries, q, products);
    } else {
        multiply<Count>(codes, padded, queries, q, products);
    }
#else
    multiply<Count>(codes, padded, queries, q, products);
#endif
    for (std::size_t i = 0; i < Count; ++i) {
        out.begin(q + i);
        for (std::size_t row = 0; row < block_rows; row += hn::Lanes(d))
            out.add(bounds_of(hn::LoadU(d, products + i * block_rows + row), terms, row, queries, q + i),
                    q + i, row);
        out.end(q + i);
    }
}

template <product_method Method, class Out>
void take_block_by_sums(const std::uint8_t* codes, const float* terms, std::size_t padded,
                        const coded_queries& queries, Out out) {
    // Two sums of each: of 32 vector registers, or of 16, of which the rows take half in pairs.
    constexpr int at_once = HWY_TARGET == HWY_AVX3 || Method == product_method::short_sums ? 6 : 3;
    std::size_t q = 0;
    for (; q + at_once <= queries.count; q += at_once)
        take_rows<Method, at_once>(codes, terms, padded, queries, q, out);
    for (; q < queries.count; ++q) take_rows<Method, 1>(codes, terms, padded, queries, q, out);
}

// ---- Products: in fours ----

#if HWY_TARGET == HWY_AVX3
/// sums + four products per lane. In assembly, because Highway's target does not have the instruction, and a function of
/// another target could not inline its functions.
HWY_INLINE integer_vector add_fours(integer_vector sums, hn::Vec512<std::uint8_t> rows,
                                    integer_vector query) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums.raw) : "v"(rows.raw), "v"(query.raw));
    return sums;
}

/// For few queries the loop is bound by memory, whose own prefetcher stops at pages of 4 KiB.
constexpr std::size_t prefetch_distance = 32'768;

/// 64 rows × Count queries from q on.
template <int Count, class Out>
HWY_INLINE void take_tile(const std::uint8_t* codes, const float* terms, std::size_t padded,
                          const coded_queries& queries, std::size_t q, Out out) {
    const integers d;
    const hn::Full512<std::uint8_t> bytes;
    integer_vector sums[Count][4];
    HWY_UNROLL(6)
    for (int i = 0; i < Count; ++i) {
        HWY_UNROLL(4)
        for (int g = 0; g < 4; ++g) sums[i][g] = hn::Set(d, queries.starts[q + i]);
    }
    const std::int8_t* const query = queries.codes + q * padded;
    for (std::size_t j = 0; j < padded; j += 4) {
        const std::uint8_t* const at = codes + j * block_rows;
        const auto r0 = hn::LoadU(bytes, at), r1 = hn::LoadU(bytes, at + 64);
        const auto r2 = hn::LoadU(bytes, at + 128), r3 = hn::LoadU(bytes, at + 192);
        if (q == 0)
            for (std::size_t line = 0; line < 256; line += 64)
                __builtin_prefetch(at + prefetch_distance + line, 0, 2);  // into the second-level cache
        HWY_UNROLL(6)
        for (int i = 0; i < Count; ++i) {
            std::int32_t four = 0;
            std::memcpy(&four, query + static_cast<std::size_t>(i) * padded + j, sizeof four);
            const integer_vector factors = hn::Set(d, four);
            sums[i][0] = add_fours(sums[i][0], r0, factors);
            sums[i][1] = add_fours(sums[i][1], r1, factors);
            sums[i][2] = add_fours(sums[i][2], r2, factors);
            sums[i][3] = add_fours(sums[i][3], r3, factors);
        }
    }
    HWY_UNROLL(6)
    for (int i = 0; i < Count; ++i) {
        out.begin(q + i);
        HWY_UNROLL(4)
        for (std::size_t g = 0; g < 4; ++g)
            out.add(bounds_of(sums[i][g], terms, 16 * g, queries, q + i), q + i, 16 * g);
        out.end(q + i);
    }
}

template <class Out>
void take_block_in_fours(const std::uint8_t* codes, const float* terms, std::size_t padded,
                         const coded_queries& queries, Out out) {
    std::size_t q = 0;
    for (; q + 6 <= queries.count; q += 6) take_tile<6>(codes, terms, padded, queries, q, out);
    switch (queries.count - q) {
        case 5:
            return take_tile<5>(codes, terms, padded, queries, q, out);
        case 4:
            return take_tile<4>(codes, terms, padded, queries, q, out);
        case 3:
            return take_tile<3>(codes, terms, padded, queries, q, out);
        case 2:
            return take_tile<2>(codes, terms, padded, queries, q, out);
        case 1:
            return take_tile<1>(codes, terms, padded, queries, q, out);
        default:
            return;
    }
}
#endif

template <class Out>
HWY_INLINE void take_block(const coded_rows& rows, std::size_t block, const coded_queries& queries, Out out,
                           product_method method) {
    const std::uint8_t* const codes = rows.codes + block * block_rows * rows.padded;
    const float* const terms = rows.terms + block * block_terms;
#if HWY_TARGET == HWY_AVX3
    if (method == product_method::fours) return take_block_in_fours(codes, terms, rows.padded, queries, out);
#endif
#if QUERN_SIMD_HAS_SHORT_SUMS
    if (method == product_method::short_sums)
        return take_block_by_sums<product_method::short_sums>(codes, terms, rows.padded, queries, out);
#endif
    (void)method;
    take_block_by_sums<product_method::pairs>(codes, terms, rows.padded, queries, out);
}

void mark_candidates(const coded_rows& rows, std::size_t first, std::size_t blocks,
                     const coded_queries& queries, const float* limits, std::uint64_t* masks,
                     product_method method) {
    for (std::size_t b = 0; b < blocks; ++b)
        take_block(rows, first + b, queries, masks_out(limits, masks + b, blocks), method);
}

void bound_block(const coded_rows& rows, std::size_t block, const coded_queries& queries, float* bounds,
                 product_method method) {
    take_block(rows, block, queries, bounds_out(bounds), method);
}

void find_best(const coded_rows& rows, std::size_t block, const coded_queries& queries, std::uint64_t present,
               float* best, std::size_t pitch, product_method method) {
    take_block(rows, block, queries, best_out(best, pitch, present), method);
}

bool has_fours() {
    return HWY_TARGET == HWY_AVX3;
}
bool has_short_sums() {
    return QUERN_SIMD_HAS_SHORT_SUMS != 0;
}
#undef QUERN_SIMD_HAS_SHORT_SUMS

// ---- Coding ----

void widen_halves(const std::uint16_t* halves, std::size_t size, float* to) {
    const floats d;
    const hn::Rebind<std::uint16_t, floats> stored;
    const hn::Rebind<hwy::float16_t, floats> half;
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= size; i += hn::Lanes(d))
        hn::StoreU(hn::PromoteTo(d, hn::BitCast(half, hn::LoadU(stored, halves + i))), d, to + i);
    for (; i < size; ++i) to[i] = float_of_half(halves[i]);
}

vector_code code_vector(const float* v, std::size_t size, std::int8_t* codes, float coarser) {
    using doubles = hn::CappedTag<double, 8>;
    const doubles wide;
    const hn::Rebind<float, doubles> d;
    const hn::RebindToSigned<hn::Rebind<float, doubles>> n;
    const hn::Rebind<std::int8_t, doubles> bytes;
    const std::size_t lanes = hn::Lanes(d);
    auto max = hn::Zero(d);
    bool whole = true;
    for (std::size_t i = 0; i < size; i += lanes) {
        const auto value = hn::LoadU(d, v + i);
        max = hn::Max(max, hn::Abs(value));
        whole = whole && hn::AllTrue(d, hn::Eq(hn::Round(value), value));
    }
    vector_code result;
    result.scale = scale_of(hn::GetLane(hn::MaxOfLanes(d, max)) * coarser, whole && coarser == 1);
    if (result.scale == 0) {
        std::fill_n(codes, size, std::int8_t{0});
        for (std::size_t i = 0; i < size; ++i) result.squares += static_cast<double>(v[i]) * v[i];
        result.rest_squares = result.squares;
        return result;
    }
    const auto scale = hn::Set(d, result.scale), inverse = hn::Set(d, 1 / result.scale);
    const auto highest = hn::Set(d, 127.0f), lowest = hn::Set(d, -127.0f);
    auto code_squares = hn::Zero(n);
    auto squares = hn::Zero(wide), rest_squares = squares;
    for (std::size_t i = 0; i < size; i += lanes) {
        const auto value = hn::LoadU(d, v + i);
        const auto code = hn::Max(hn::Min(hn::Round(hn::Mul(value, inverse)), highest), lowest);
        hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(n, code)), bytes, codes + i);
        code_squares = hn::Add(code_squares, hn::ConvertTo(n, hn::Mul(code, code)));
        const auto whole_value = hn::PromoteTo(wide, value);
        const auto rest = hn::PromoteTo(wide, hn::Sub(value, hn::Mul(scale, code)));
        squares = hn::Add(squares, hn::Mul(whole_value, whole_value));
        rest_squares = hn::Add(rest_squares, hn::Mul(rest, rest));
    }
    double parts[2][8] = {};
    std::int32_t code_parts[8] = {};
    hn::StoreU(squares, wide, parts[0]);
    hn::StoreU(rest_squares, wide, parts[1]);
    hn::StoreU(code_squares, n, code_parts);
    for (std::size_t i = 0; i < 8; ++i) {
        result.squares += parts[0][i];
        result.rest_squares += parts[1][i];
        result.codes += static_cast<std::uint64_t>(code_parts[i]);
    }
    return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::nearest_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::nearest_detail {

HWY_EXPORT(has_fours);
HWY_EXPORT(has_short_sums);
HWY_EXPORT(mark_candidates);
HWY_EXPORT(bound_block);
HWY_EXPORT(find_best);
HWY_EXPORT(widen_halves);
HWY_EXPORT(code_vector);

product_method best_product_method() {
#if HWY_ARCH_X86
    if (HWY_DYNAMIC_DISPATCH(has_fours)() && __builtin_cpu_supports("avx512vnni") != 0)
        return product_method::fours;
#endif
    return HWY_DYNAMIC_DISPATCH(has_short_sums)() ? product_method::short_sums : product_method::pairs;
}

void mark_candidates(const coded_rows& rows, std::size_t first, std::size_t blocks,
                     const coded_queries& queries, const float* limits, std::uint64_t* masks,
                     product_method method) {
    HWY_DYNAMIC_DISPATCH(mark_candidates)(rows, first, blocks, queries, limits, masks, method);
}
void bound_block(const coded_rows& rows, std::size_t block, const coded_queries& queries, float* bounds,
                 product_method method) {
    HWY_DYNAMIC_DISPATCH(bound_block)(rows, block, queries, bounds, method);
}
void find_best(const coded_rows& rows, std::size_t block, const coded_queries& queries, std::uint64_t present,
               float* best, std::size_t pitch, product_method method) {
    HWY_DYNAMIC_DISPATCH(find_best)(rows, block, queries, present, best, pitch, method);
}
void widen_halves(const std::uint16_t* halves, std::size_t size, float* to) {
    HWY_DYNAMIC_DISPATCH(widen_halves)(halves, size, to);
}
vector_code code_vector(const float* v, std::size_t size, std::int8_t* codes, float coarser) {
    return HWY_DYNAMIC_DISPATCH(code_vector)(v, size, codes, coarser);
}

}  // namespace quern::nearest_detail
#endif
