// SPDX-License-Identifier: Apache-2.0
// Counts different bits. Compiled once for each instruction set. Rows of fewer than 72 bytes are processed word by word, in
// a loop specialised for their number of words, with the query in registers: one count per cycle. Longer ones use vector
// registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nearest/distance/bit_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <bit>
#include <cstring>

#include "hwy/highway.h"
#include "ops/nearest/distance/distance_kernels.hpp"
#include "ops/nearest/distance/registers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::nearest_detail {
namespace HWY_NAMESPACE {

HWY_INLINE std::uint64_t word_at(const std::byte* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

/// The last word of a row of at least eight bytes: it starts before the row's end, and the bytes of the previous words are
/// shifted out. 0 if nothing is left.
HWY_INLINE std::uint64_t last_word(const std::byte* row, std::size_t bytes) {
    const std::size_t left = bytes % 8;
    return left == 0 ? 0 : word_at(row + bytes - 8) >> (64 - 8 * left);
}

template <std::size_t Words>
void count_short_rows(const sums_wanted& wanted, const std::byte* query, std::uint32_t* sums) {
    std::uint64_t requested[Words];
    for (std::size_t w = 0; w < Words; ++w) requested[w] = word_at(query + 8 * w);
    const std::size_t bytes = wanted.dimensions, ahead = wanted.in_order ? bytes_ahead : 0;
    const std::uint64_t requested_last = last_word(query, bytes);
    for (std::size_t i = 0; i < wanted.row_count; ++i) {
        const std::byte* const row = wanted.rows[i];
        fetch_ahead(row, ahead);
        std::uint64_t count = 0;
#pragma GCC unroll 8
        for (std::size_t w = 0; w < Words; ++w)
            count += static_cast<std::uint64_t>(std::popcount(word_at(row + 8 * w) ^ requested[w]));
        if (bytes % 8 != 0)
            count += static_cast<std::uint64_t>(std::popcount(last_word(row, bytes) ^ requested_last));
        sums[i] = static_cast<std::uint32_t>(count);
    }
}

void count_bytes(const sums_wanted& wanted, const std::byte* query, std::uint32_t* sums) {
    for (std::size_t i = 0; i < wanted.row_count; ++i) {
        int count = 0;
        for (std::size_t j = 0; j < wanted.dimensions; ++j)
            count += std::popcount(std::to_integer<unsigned>(wanted.rows[i][j] ^ query[j]));
        sums[i] = static_cast<std::uint32_t>(count);
    }
}

void count_long_rows(const sums_wanted& wanted, const std::byte* query, std::uint32_t* sums) {
    const std::size_t bytes = wanted.dimensions;
    for (std::size_t i = 0; i < wanted.row_count; ++i) {
        const std::byte* const row = wanted.rows[i];
        std::uint64_t count = 0;
        std::size_t j = 0;
#if HWY_TARGET != HWY_SCALAR
        const long_words d;
        const hn::Repartition<std::uint8_t, long_words> as_bytes;
        constexpr std::size_t width = hn::MaxLanes(as_bytes);
        const auto* const x = reinterpret_cast<const std::uint8_t*>(row);
        const auto* const y = reinterpret_cast<const std::uint8_t*>(query);
        auto sum = hn::Zero(d);
        for (; j + width <= bytes; j += width) {
            fetch_ahead(row + j, wanted.in_order ? bytes_ahead : 0);
            const auto different = hn::Xor(hn::LoadU(as_bytes, x + j), hn::LoadU(as_bytes, y + j));
            sum = hn::Add(sum, hn::PopulationCount(hn::BitCast(d, different)));
        }
        count = hn::GetLane(hn::SumOfLanes(d, sum));
#endif
        for (; j + 8 <= bytes; j += 8)
            count += static_cast<std::uint64_t>(std::popcount(word_at(row + j) ^ word_at(query + j)));
        count += static_cast<std::uint64_t>(std::popcount(last_word(row, bytes) ^ last_word(query, bytes)));
        sums[i] = static_cast<std::uint32_t>(count);
    }
}

void sum_bits(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride) {
    constexpr decltype(&count_bytes) by_words[] = {
        count_bytes,         count_short_rows<1>, count_short_rows<2>, count_short_rows<3>,
        count_short_rows<4>, count_short_rows<5>, count_short_rows<6>, count_short_rows<7>,
        count_short_rows<8>, count_long_rows};
    const auto count = by_words[std::min<std::size_t>(wanted.dimensions / 8, std::size(by_words) - 1)];
    for (std::size_t q = 0; q < wanted.query_count; ++q)
        count(wanted, static_cast<const std::byte*>(wanted.queries) + q * wanted.query_stride,
              sums + q * stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::nearest_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::nearest_detail {

HWY_EXPORT(sum_bits);

void sum_bits(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride) {
    HWY_DYNAMIC_DISPATCH(sum_bits)(wanted, sums, stride);
}

}  // namespace quern::nearest_detail
#endif
