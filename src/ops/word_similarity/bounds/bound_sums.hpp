// SPDX-License-Identifier: Apache-2.0
// The sums of a row's bounds with all words of a tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/word_similarity/bounds/bound_rows.hpp"

namespace quern::word_similarity_detail {

/// Adds the terms that some entries of a row share with the first `size` words of a tile; sums up to the next multiple of
/// kernel_group may get terms, too. `Products`: cosine; `Whole`: size is that of the tile.
template <bool Products, bool Whole>
void add_terms(const bound_rows& rows, const bound_tile& tile, item_range entries, std::size_t size,
               std::uint32_t* sums) {
    // Lists lie far apart: the first lines of a later one are fetched, and its place before that.
    constexpr std::uint64_t ahead = 8;
    constexpr std::uint32_t line = 64 / sizeof(packed_posting), lines = 6;
    const std::uint32_t* const starts = tile.starts();
    const packed_posting* const postings = tile.postings();
    const std::uint32_t* const columns = rows.columns();
    const std::uint64_t end = entries.end;
    for (std::uint64_t i = entries.begin; i < end; ++i) {
        if (i + 2 * ahead < end) __builtin_prefetch(starts + columns[i + 2 * ahead]);
        if (i + ahead < end) {
            const std::uint32_t next = starts[columns[i + ahead]];
            const std::uint32_t length = std::min(lines * line, starts[columns[i + ahead] + 1] - next);
            for (std::uint32_t k = 0; k < length; k += line) __builtin_prefetch(postings + next + k);
        }
        const std::uint32_t value = rows.values()[i];
        const packed_posting* p = postings + starts[columns[i]];
        const packed_posting* const last = postings + starts[columns[i] + 1];
        if (last - p == tile.dense_length()) {
            const auto* const values = reinterpret_cast<const std::uint16_t*>(p);
            if constexpr (Products)
                add_dense_products(sums, values, size, rows.values()[i]);
            else
                add_dense_sums(sums, values, size, rows.values()[i]);
            continue;
        }
        const auto add = [&](packed_posting posting) {
            sums[posting & 0xffff] += Products ? (posting >> 16) * value : (posting >> 16) + value;
        };
        const auto counts = [&](packed_posting posting) { return Whole || (posting & 0xffff) < size; };
        for (; p + 4 <= last && counts(p[3]); p += 4) {
            std::uint64_t two[2];
            std::memcpy(two, p, sizeof two);
            add(static_cast<packed_posting>(two[0]));
            add(static_cast<packed_posting>(two[0] >> 32));
            add(static_cast<packed_posting>(two[1]));
            add(static_cast<packed_posting>(two[1] >> 32));
        }
        for (; p < last && counts(*p); ++p) add(*p);
    }
}

inline void add_bounds(const bound_rows& rows, const bound_tile& tile, item_range entries, std::size_t size,
                       std::uint32_t* sums) {
    const bool whole = size == tile.size();
    if (rows.products())
        whole ? add_terms<true, true>(rows, tile, entries, size, sums)
              : add_terms<true, false>(rows, tile, entries, size, sums);
    else
        whole ? add_terms<false, true>(rows, tile, entries, size, sums)
              : add_terms<false, false>(rows, tile, entries, size, sums);
}

}  // namespace quern::word_similarity_detail
