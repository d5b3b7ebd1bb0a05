// SPDX-License-Identifier: Apache-2.0
// Sums of parts over rows and queries, in vector registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/ranked_retrieval/components.hpp"

namespace quern::ranked_retrieval_detail {

/// How components lie in registers, and what queries must therefore be stored as.
enum class lanes_of {
    floats,    ///< f32, queries in f32. Sums as distance.hpp has them
    shorts,    ///< i16 from i8, u8, i16; sums of pairs in i32: squares, products, and of 8 bits differences
    integers,  ///< i32 from i8, u8, i16; sums in i32: differences and greatest
    longs,     ///< i32 from i16, sums in i64: squares and products
    words,     ///< bytes as they are, 64 bits at a time: different_bits
};

/// One query is bound by memory, and the processor's own prefetching stops at pages: of rows that lie one behind the
/// other, what comes a page later is asked for. With 1 KiB 8 % slower, with 8 KiB 5 %; without, 25 %.
inline constexpr std::size_t bytes_ahead = 4096;

/// Queries are filled up with zeros to a multiple of so many components, so that whole registers can be loaded.
inline constexpr std::size_t query_unit = 64;

/// Some rows against some queries. Rows are found through pointers: they may lie anywhere.
struct sums_wanted {
    vector_type type = vector_type::f32;
    part_kind kind = part_kind::squares;
    lanes_of lanes = lanes_of::floats;
    const std::byte* const* rows = nullptr;  ///< at the first component that counts
    std::size_t row_count = 0;
    std::size_t dimensions = 0;     ///< that count; of words, bytes
    const void* queries = nullptr;  ///< float, std::int16_t, std::int32_t or bytes by `lanes`
    std::size_t query_stride = 0, query_count = 0;
    bool in_order = true;  ///< the rows lie one behind the other
};

/// sums[q · stride + i] of query q and row i, as 32 bits: a float, or an integer that may be signed. The caller sees to
/// it that sums of integers fit. Of floats, shorts and integers.
void sum_parts(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride);
void sum_long_parts(const sums_wanted& wanted, std::int64_t* sums, std::size_t stride);  ///< of longs
void sum_bits(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride);       ///< of words

/// Products of floats, as their bits, become their rank keys.
void rank_products(std::uint32_t* sums, std::size_t size);
/// Keys of cosines of products, squares of rows, and the query's.
void rank_cosines(const double* products, const double* squares, double query_square, std::size_t size,
                  std::uint32_t* keys);

/// Floats of 16 bits as f32, exactly: worth it where four queries and more use them.
void widen_floats(vector_type type, const std::byte* from, std::size_t size, float* to);

}  // namespace quern::ranked_retrieval_detail
