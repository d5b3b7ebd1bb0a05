// SPDX-License-Identifier: Apache-2.0
// The sums of a row's bounds with all words of a tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/word_similarity/bounds/bound_rows.hpp"

namespace quern::word_similarity_detail {

/// Adds the terms that some entries of a row share with the words of a tile. `Products`: cosine.
template <bool Products>
void add_bounds(const bound_rows& rows, const bound_tile& tile, item_range entries, std::uint32_t* sums) {
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
                add_dense_products(sums, values, tile.size(), rows.values()[i]);
            else
                add_dense_sums(sums, values, tile.size(), rows.values()[i]);
            continue;
        }
        const auto add = [&](packed_posting posting) {
            sums[posting & 0xffff] += Products ? (posting >> 16) * value : (posting >> 16) + value;
        };
        for (; p + 4 <= last; p += 4) {
            std::uint64_t two[2];
            std::memcpy(two, p, sizeof two);
            add(static_cast<packed_posting>(two[0]));
            add(static_cast<packed_posting>(two[0] >> 32));
            add(static_cast<packed_posting>(two[1]));
            add(static_cast<packed_posting>(two[1] >> 32));
        }
        for (; p < last; ++p) add(*p);
    }
}

}  // namespace quern::word_similarity_detail
