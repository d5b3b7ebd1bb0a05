// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time.
// - A tile is four rows by some queries, or some rows by one query: as many pairs as a register has lanes of 32 bits.
// - Each pair has a register of partial sums (AVX-512: all sixteen of distance.hpp; narrower registers: two or four of
//   them). The trees of all pairs of a tile are added together, by transposing, at three instructions per pair.
// - Nothing is contracted: products are rounded, then added; tests compare the bits of every instruction set with the
//   reference.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nearest/distance/distance_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "ops/nearest/distance/distance_kernels.hpp"
#include "ops/nearest/distance/registers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::nearest_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t tile_rows = std::min<std::size_t>(4, lanes), tile_queries = lanes / tile_rows;

// ---- What a tile does with components ----

template <vector_type Type, part_kind Kind>
struct float_step {
    using stored = stored_t<Type>;
    using requested = float;
    using components = hn::Vec<floats>;
    using sums = hn::Vec<floats>;
    static constexpr part_kind kind = Kind;
    static constexpr std::size_t step = lanes, sets = partial_sums / lanes;
    static constexpr bool many_queries = Type == vector_type::f32;  // others arrive widened

    static HWY_INLINE components load(const stored* from) { return load_floats<Type>(from); }
    static HWY_INLINE components load(const stored* from, std::size_t count) {
        return load_floats<Type>(from, count);
    }
    static HWY_INLINE components load_requested(const requested* from) { return hn::LoadU(floats(), from); }
    static HWY_INLINE sums zero() { return hn::Zero(floats()); }
    static HWY_INLINE sums add(sums to, components a, components b) {
        if constexpr (Kind == part_kind::products) {
            return hn::Add(to, hn::Mul(a, b));
        } else {
            const components difference = hn::Sub(a, b);
            if constexpr (Kind == part_kind::squares) return hn::Add(to, hn::Mul(difference, difference));
            return join<Kind>(to, hn::Abs(difference));
        }
    }
};

template <class Stored, part_kind Kind>
struct short_step {
    using stored = Stored;
    using requested = std::int16_t;
    using components = hn::Vec<shorts>;
    using sums = hn::Vec<integers>;
    static constexpr part_kind kind = Kind;
    static constexpr std::size_t step = hn::MaxLanes(shorts()), sets = 1;
    static constexpr bool many_queries = true;

    static HWY_INLINE components load(const stored* from) { return load_shorts(from); }
    static HWY_INLINE components load(const stored* from, std::size_t count) {
        return load_shorts(from, count);
    }
    static HWY_INLINE components load_requested(const requested* from) { return hn::LoadU(shorts(), from); }
    static HWY_INLINE sums zero() { return hn::Zero(integers()); }
    static HWY_INLINE sums add(sums to, components a, components b) {
        const integers d;
        if constexpr (Kind != part_kind::products) {
            a = hn::Sub(a, b);
            b = Kind == part_kind::squares ? a : hn::Set(shorts(), 1);
            if constexpr (Kind == part_kind::differences) a = hn::Abs(a);
        }
        if constexpr (lanes == 1) {  // plain C++, where signed sums must not overflow
            const auto product = static_cast<std::uint32_t>(std::int32_t{hn::GetLane(a)} * hn::GetLane(b));
            return hn::Set(d,
                           static_cast<std::int32_t>(static_cast<std::uint32_t>(hn::GetLane(to)) + product));
        } else {
            sums unused = hn::Zero(d);
            return hn::ReorderWidenMulAccumulate(d, a, b, to, unused);
        }
    }
};

template <class Stored, part_kind Kind>
struct integer_step {
    using stored = Stored;
    using requested = std::int32_t;
    using components = hn::Vec<integers>;
    using sums = hn::Vec<words>;
    static constexpr part_kind kind = Kind;
    static constexpr std::size_t step = lanes, sets = 1;
    static constexpr bool many_queries = true;

    static HWY_INLINE components load(const stored* from) {
        return hn::PromoteTo(integers(), hn::LoadU(hn::Rebind<Stored, integers>(), from));
    }
    static HWY_INLINE components load(const stored* from, std::size_t count) {
        return hn::PromoteTo(integers(), load_first(hn::Rebind<Stored, integers>(), from, count));
    }
    static HWY_INLINE components load_requested(const requested* from) { return hn::LoadU(integers(), from); }
    static HWY_INLINE sums zero() { return hn::Zero(words()); }
    static HWY_INLINE sums add(sums to, components a, components b) {
        return join<Kind>(to, hn::BitCast(words(), hn::Abs(hn::Sub(a, b))));
    }
};

// ---- Tiles ----

/// The sums of Rows rows and Queries queries, in items[q · across + r].
template <class Step, std::size_t Rows, std::size_t Queries>
HWY_INLINE void sum_block(const sums_wanted& wanted, const std::byte* const* rows,
                          const typename Step::requested* queries, typename Step::sums* items,
                          std::size_t across) {
    using stored = typename Step::stored;
    constexpr std::size_t chunk = Step::step * Step::sets;
    const std::size_t dimensions = wanted.dimensions, query_stride = wanted.query_stride;
    const std::size_t ahead = wanted.in_order ? bytes_ahead : 0;
    const stored* row[Rows];
    typename Step::sums sums[Queries][Rows][Step::sets];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
        row[r] = static_cast<const stored*>(static_cast<const void*>(rows[r]));
#pragma GCC unroll 4
        for (std::size_t q = 0; q < Queries; ++q)
#pragma GCC unroll 4
            for (std::size_t s = 0; s < Step::sets; ++s) sums[q][r][s] = Step::zero();
    }
    std::size_t j = 0;
    for (; j + chunk <= dimensions; j += chunk) {
#pragma GCC unroll 4
        for (std::size_t s = 0; s < Step::sets; ++s) {
            const std::size_t at = j + s * Step::step;
            typename Step::components requested[Queries];
#pragma GCC unroll 4
            for (std::size_t q = 0; q < Queries; ++q)
                requested[q] = Step::load_requested(queries + q * query_stride + at);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < Rows; ++r) {
                if constexpr (Queries == 1) fetch_ahead(row[r] + at, ahead);
                const auto components = Step::load(row[r] + at);
#pragma GCC unroll 4
                for (std::size_t q = 0; q < Queries; ++q)
                    sums[q][r][s] = Step::add(sums[q][r][s], components, requested[q]);
            }
        }
    }
#pragma GCC unroll 4
    for (std::size_t s = 0; s < Step::sets; ++s) {
        const std::size_t at = j + s * Step::step;
        if (at >= dimensions) break;
        const std::size_t left = std::min(dimensions - at, Step::step);
#pragma GCC unroll 16
        for (std::size_t r = 0; r < Rows; ++r) {
            const auto components = Step::load(row[r] + at, left);
#pragma GCC unroll 4
            for (std::size_t q = 0; q < Queries; ++q)
                sums[q][r][s] = Step::add(sums[q][r][s], components,
                                          Step::load_requested(queries + q * query_stride + at));
        }
    }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (std::size_t q = 0; q < Queries; ++q) {
            auto& sets = sums[q][r];
            // The first steps of the tree, if partial sums fill several registers.
#pragma GCC unroll 4
            for (std::size_t half = Step::sets / 2; half > 0; half /= 2)
#pragma GCC unroll 8
                for (std::size_t i = 0; i < half; ++i) sets[i] = join<Step::kind>(sets[i], sets[i + half]);
            items[q * across + r] = sets[0];
        }
}

/// The rows of a block whose sums stay in registers: AVX-512 has 32 of them, AVX2 and SSE 16.
template <class Step, std::size_t Queries>
constexpr std::size_t rows_of_block() {
    constexpr std::size_t registers = lanes == 16 ? 16 : 8;
    return std::max<std::size_t>(1, std::min<std::size_t>(tile_rows, registers / (Queries * Step::sets)));
}

template <class Step, std::size_t Rows, std::size_t Queries>
HWY_INLINE void sum_tile(const sums_wanted& wanted, const std::byte* const* rows,
                         const typename Step::requested* queries, std::uint32_t* out) {
    constexpr std::size_t each = rows_of_block<Step, Queries>();
    static_assert(Rows * Queries == lanes && Rows % each == 0);
    typename Step::sums items[lanes];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Rows; r += each)
        sum_block<Step, each, Queries>(wanted, rows + r, queries, items + r, Rows);
    hn::Store(hn::BitCast(words(), add_trees<Step::kind>(items)), words(), out);
}

/// Prefetches the beginnings of scattered rows; the processor prefetches the rest itself.
HWY_INLINE void fetch_rows(const std::byte* const* rows, std::size_t count, std::size_t bytes) {
    for (std::size_t r = 0; r < count; ++r)
        for (std::size_t b = 0; b < std::min<std::size_t>(bytes, 1024); b += 64) fetch_ahead(rows[r], b);
}

/// One query: as many rows at a time as there are lanes.
template <class Step>
void sum_one_query(const sums_wanted& wanted, const typename Step::requested* query, std::uint32_t* sums) {
    HWY_ALIGN std::uint32_t found[lanes];
    const std::byte* last[lanes];
    for (std::size_t i = 0; i < wanted.row_count; i += lanes) {
        const std::size_t count = std::min(lanes, wanted.row_count - i);
        const std::byte* const* rows = wanted.rows + i;
        if (count < lanes) {  // repeats the last row
            for (std::size_t r = 0; r < lanes; ++r) last[r] = rows[std::min(r, count - 1)];
            rows = last;
        }
        if (!wanted.in_order && count == lanes)
            fetch_rows(rows + lanes, std::min(lanes, wanted.row_count - i - lanes),
                       wanted.dimensions * sizeof(typename Step::stored));
        sum_tile<Step, lanes, 1>(wanted, rows, query, found);
        std::memcpy(sums + i, found, count * sizeof *sums);
    }
}

/// tile_queries queries, four rows at a time.
template <class Step>
void sum_some_queries(const sums_wanted& wanted, const typename Step::requested* queries, std::uint32_t* sums,
                      std::size_t stride) {
    HWY_ALIGN std::uint32_t found[lanes];
    const std::byte* last[tile_rows];
    for (std::size_t i = 0; i < wanted.row_count; i += tile_rows) {
        const std::size_t count = std::min(tile_rows, wanted.row_count - i);
        const std::byte* const* rows = wanted.rows + i;
        if (count < tile_rows) {
            for (std::size_t r = 0; r < tile_rows; ++r) last[r] = rows[std::min(r, count - 1)];
            rows = last;
        }
        sum_tile<Step, tile_rows, tile_queries>(wanted, rows, queries, found);
        for (std::size_t q = 0; q < tile_queries; ++q)
            std::memcpy(sums + q * stride + i, found + q * tile_rows, count * sizeof *sums);
    }
}

template <class Step>
void sum_all(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride) {
    const auto* const queries = static_cast<const typename Step::requested*>(wanted.queries);
    std::size_t q = 0;
    if constexpr (tile_queries > 1 && Step::many_queries)
        for (; q + tile_queries <= wanted.query_count; q += tile_queries)
            sum_some_queries<Step>(wanted, queries + q * wanted.query_stride, sums + q * stride, stride);
    for (; q < wanted.query_count; ++q)
        sum_one_query<Step>(wanted, queries + q * wanted.query_stride, sums + q * stride);
}

// ---- Choice of the step ----

template <vector_type Type>
void sum_floats(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride) {
    switch (wanted.kind) {
        case part_kind::products:
            return sum_all<float_step<Type, part_kind::products>>(wanted, sums, stride);
        case part_kind::differences:
            return sum_all<float_step<Type, part_kind::differences>>(wanted, sums, stride);
        case part_kind::greatest:
            return sum_all<float_step<Type, part_kind::greatest>>(wanted, sums, stride);
        default:
            return sum_all<float_step<Type, part_kind::squares>>(wanted, sums, stride);
    }
}

template <class Stored>
void sum_integers(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride) {
    switch (wanted.kind) {
        case part_kind::products:
            return sum_all<short_step<Stored, part_kind::products>>(wanted, sums, stride);
        case part_kind::differences:
            if constexpr (sizeof(Stored) == 2)
                return sum_all<integer_step<Stored, part_kind::differences>>(wanted, sums, stride);
            else
                return sum_all<short_step<Stored, part_kind::differences>>(wanted, sums, stride);
        case part_kind::greatest:
            return sum_all<integer_step<Stored, part_kind::greatest>>(wanted, sums, stride);
        default:
            return sum_all<short_step<Stored, part_kind::squares>>(wanted, sums, stride);
    }
}

void sum_parts(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride) {
    switch (wanted.type) {
        case vector_type::f16:
            return sum_floats<vector_type::f16>(wanted, sums, stride);
        case vector_type::bf16:
            return sum_floats<vector_type::bf16>(wanted, sums, stride);
        case vector_type::i16:
            return sum_integers<std::int16_t>(wanted, sums, stride);
        case vector_type::i8:
            return sum_integers<std::int8_t>(wanted, sums, stride);
        case vector_type::u8:
            return sum_integers<std::uint8_t>(wanted, sums, stride);
        default:
            return sum_floats<vector_type::f32>(wanted, sums, stride);
    }
}

// ---- Sums in 64 bits ----

/// Parts of i16 have 32 bits: squares directly, products plus 2^31, so that both are unsigned. The even and the odd lanes
/// are added as 64-bit numbers.
template <part_kind Kind>
HWY_INLINE std::int64_t sum_long(const std::int16_t* row, const std::int32_t* query, std::size_t dimensions,
                                 std::size_t ahead) {
    const integers d;
    const long_words wide;
    const hn::Rebind<std::int16_t, integers> stored;
    [[maybe_unused]] const auto lower = hn::Set(wide, 0xffffffffu);
    const auto bias = hn::Set(words(), 0x80000000u);
    auto even = hn::Zero(wide), odd = even;
    std::size_t j = 0;
    for (; j < dimensions; j += lanes) {
        const std::size_t left = dimensions - j;
        fetch_ahead(row + j, ahead);
        const auto a =
            hn::PromoteTo(d, left >= lanes ? hn::LoadU(stored, row + j) : load_first(stored, row + j, left));
        const auto b = hn::LoadU(d, query + j);
        auto part = hn::BitCast(words(), hn::Mul(a, b));
        if constexpr (Kind == part_kind::products) {
            part = hn::Xor(part, bias);
        } else {
            const auto difference = hn::Sub(a, b);
            part = hn::BitCast(words(), hn::Mul(difference, difference));
        }
#if HWY_TARGET == HWY_SCALAR
        even = hn::Add(even, hn::Set(wide, hn::GetLane(part)));
#else
        even = hn::Add(even, hn::And(hn::BitCast(wide, part), lower));
        odd = hn::Add(odd, hn::ShiftRight<32>(hn::BitCast(wide, part)));
#endif
    }
    auto sum = static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(wide, hn::Add(even, odd))));
    if constexpr (Kind == part_kind::products) sum -= static_cast<std::int64_t>(j) << 31;
    return sum;
}

void sum_long_parts(const sums_wanted& wanted, std::int64_t* sums, std::size_t stride) {
    const auto* const queries = static_cast<const std::int32_t*>(wanted.queries);
    const std::size_t ahead = wanted.in_order ? bytes_ahead : 0;
    for (std::size_t q = 0; q < wanted.query_count; ++q) {
        const std::int32_t* const query = queries + q * wanted.query_stride;
        for (std::size_t i = 0; i < wanted.row_count; ++i) {
            const auto* const row =
                static_cast<const std::int16_t*>(static_cast<const void*>(wanted.rows[i]));
            sums[q * stride + i] = wanted.kind == part_kind::products
                                       ? sum_long<part_kind::products>(row, query, wanted.dimensions, ahead)
                                       : sum_long<part_kind::squares>(row, query, wanted.dimensions, ahead);
        }
    }
}

// ---- Keys ----

/// key_of_product of distance.hpp, lane by lane.
void rank_products(std::uint32_t* sums, std::size_t size) {
    const floats d;
    const integers i;
    const auto top = hn::Set(i, std::numeric_limits<std::int32_t>::min());
    std::size_t j = 0;
    for (; j + lanes <= size; j += lanes) {
        const auto product = hn::Add(hn::BitCast(d, hn::LoadU(words(), sums + j)), hn::Zero(d));
        const auto stored = hn::BitCast(i, product), negative = hn::ShiftRight<31>(stored);
        const auto on_line = hn::Sub(
            hn::Xor(stored, hn::BitCast(i, hn::ShiftRight<1>(hn::BitCast(words(), negative)))), negative);
        hn::StoreU(hn::BitCast(words(), hn::Not(hn::Xor(on_line, top))), words(), sums + j);
    }
    for (; j < size; ++j) sums[j] = key_of_product(std::bit_cast<float>(sums[j]));
}

/// cosine_distance of distance.hpp, lane by lane.
void rank_cosines(const double* products, const double* squares, double query_square, std::size_t size,
                  std::uint32_t* keys) {
    const doubles d;
    const hn::Rebind<float, doubles> narrow;
    const hn::Rebind<std::uint32_t, doubles> key;
    const auto zero = hn::Zero(d), one = hn::Set(d, 1.0), two = hn::Set(d, 2.0), y = hn::Set(d, query_square);
    std::size_t j = 0;
    for (; j + hn::Lanes(d) <= size; j += hn::Lanes(d)) {
        const auto x = hn::LoadU(d, squares + j);
        const auto root = hn::Sqrt(hn::Mul(x, y));
        const auto distance = hn::Sub(one, hn::Div(hn::LoadU(d, products + j), root));
        const auto held = hn::Min(hn::Max(distance, zero), two);
        const auto none = hn::Or(hn::Eq(x, zero), hn::Eq(y, zero));
        hn::StoreU(hn::BitCast(key, hn::DemoteTo(narrow, hn::IfThenElse(none, one, held))), key, keys + j);
    }
    for (; j < size; ++j)
        keys[j] = key_of_distance(
            cosine_distance(products[j], squares[j], query_square, std::sqrt(squares[j] * query_square)));
}

template <vector_type Type>
void widen(const std::uint16_t* from, std::size_t size, float* to) {
    std::size_t j = 0;
    for (; j + lanes <= size; j += lanes)
        hn::StoreU(as_floats<Type>(hn::LoadU(hn::Rebind<std::uint16_t, floats>(), from + j)), floats(),
                   to + j);
    for (; j < size; ++j) to[j] = value_of<Type>(from[j]);
}
void widen_floats(vector_type type, const std::byte* from, std::size_t size, float* to) {
    const auto* const stored = static_cast<const std::uint16_t*>(static_cast<const void*>(from));
    if (type == vector_type::f16)
        widen<vector_type::f16>(stored, size, to);
    else
        widen<vector_type::bf16>(stored, size, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::nearest_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::nearest_detail {

HWY_EXPORT(sum_parts);
HWY_EXPORT(sum_long_parts);
HWY_EXPORT(rank_products);
HWY_EXPORT(rank_cosines);
HWY_EXPORT(widen_floats);

void sum_parts(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride) {
    HWY_DYNAMIC_DISPATCH(sum_parts)(wanted, sums, stride);
}
void sum_long_parts(const sums_wanted& wanted, std::int64_t* sums, std::size_t stride) {
    HWY_DYNAMIC_DISPATCH(sum_long_parts)(wanted, sums, stride);
}
void rank_products(std::uint32_t* sums, std::size_t size) {
    HWY_DYNAMIC_DISPATCH(rank_products)(sums, size);
}
void rank_cosines(const double* products, const double* squares, double query_square, std::size_t size,
                  std::uint32_t* keys) {
    HWY_DYNAMIC_DISPATCH(rank_cosines)(products, squares, query_square, size, keys);
}
void widen_floats(vector_type type, const std::byte* from, std::size_t size, float* to) {
    HWY_DYNAMIC_DISPATCH(widen_floats)(type, from, size, to);
}

}  // namespace quern::nearest_detail
#endif
