// SPDX-License-Identifier: Apache-2.0
// Sums of parts over rows and queries, in vector registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/nearest/distance/components.hpp"

namespace quern::nearest_detail {

/// The layout of components in registers, and therefore the stored form of queries.
enum class lanes_of {
    floats,    ///< f32, queries in f32. Sums as in distance.hpp
    shorts,    ///< i16 from i8, u8, i16; sums of pairs in i32: squares, products, and of 8 bits differences
    integers,  ///< i32 from i8, u8, i16; sums in i32: differences and greatest
    longs,     ///< i32 from i16, sums in i64: squares and products
    words,     ///< raw bytes, 64 bits at a time: different_bits
};

/// One query is bound by memory, and the processor's own prefetching stops at page ends: for contiguous rows, the kernel
/// prefetches one page ahead. With 1 KiB 8 % slower, with 8 KiB 5 %; without, 25 %.
inline constexpr std::size_t bytes_ahead = 4096;

/// Queries are padded with zeros to a multiple of this many components, so that whole registers can be loaded.
inline constexpr std::size_t query_unit = 64;

/// Some rows against some queries. Rows are given by pointers: they may be anywhere.
struct sums_wanted {
    vector_type type = vector_type::f32;
    part_kind kind = part_kind::squares;
    lanes_of lanes = lanes_of::floats;
    const std::byte* const* rows = nullptr;  ///< at the first relevant component
    std::size_t row_count = 0;
    std::size_t dimensions = 0;     ///< relevant ones; of words, bytes
    const void* queries = nullptr;  ///< float, std::int16_t, std::int32_t or bytes by `lanes`
    std::size_t query_stride = 0, query_count = 0;
    bool in_order = true;  ///< the rows are contiguous
};

/// sums[q · stride + i] of query q and row i, as 32 bits: a float, or an integer that may be signed. The caller ensures
/// that sums of integers fit. For floats, shorts and integers.
void sum_parts(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride);
void sum_long_parts(const sums_wanted& wanted, std::int64_t* sums, std::size_t stride);  ///< for longs
void sum_bits(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride);       ///< for words

/// Converts products of floats, as bits, to their rank keys.
void rank_products(std::uint32_t* sums, std::size_t size);
/// Keys of cosines from products, squares of rows, and the query's square.
void rank_cosines(const double* products, const double* squares, double query_square, std::size_t size,
                  std::uint32_t* keys);

/// Floats of 16 bits as f32, exactly: pays if at least four queries use them.
void widen_floats(vector_type type, const std::byte* from, std::size_t size, float* to);

// Sums over rows of f64 in vector registers, in the order of distance.hpp.

/// sums[q] of the row and query q, which begins at queries[q · stride]. Not different_bits.
void sum_doubles(part_kind kind, const double* row, const double* queries, std::size_t stride,
                 std::size_t query_count, std::size_t dimensions, double* sums);

/// The maximum |a|, infinity if one is infinite or NaN; square = Σ a².
double look_at_doubles(const double* row, std::size_t dimensions, double& square);

// One pass over every component of some rows, in vector registers.

/// Rows of f32, f16 or bf16: squares[i] = Σ a² in the canonical order. Returns the maximum |a| as the bits of a float;
/// these are above those of every finite float if there is an infinity or NaN.
std::uint32_t look_at_floats(vector_type type, const std::byte* const* rows, std::size_t row_count,
                             std::size_t dimensions, double* squares);

/// Rows of i16, i8 or u8: squares[i] = Σ a², exact, then rounded. Returns the minimum and the maximum component.
integer_range look_at_integers(vector_type type, const std::byte* const* rows, std::size_t row_count,
                               std::size_t dimensions, double* squares);

}  // namespace quern::nearest_detail
