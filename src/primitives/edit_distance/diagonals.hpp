// SPDX-License-Identifier: Apache-2.0
// Few edits, found along diagonals (Ukkonen 1985; Myers 1986): with e edits, how far does each diagonal of the table reach?
// Rows of equal units cost only their comparison, eight bytes at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "primitives/edit_distance/edit_distance.hpp"

namespace quern::primitives::edit_distance_detail {

/// The length of the common prefix of a and b, up to `max`.
template <string_unit Unit>
std::size_t common_begin(const Unit* a, const Unit* b, std::size_t max) {
    constexpr std::size_t at_once = 8 / sizeof(Unit);
    std::size_t i = 0;
    for (; i + at_once <= max; i += at_once) {
        std::uint64_t x, y;
        std::memcpy(&x, a + i, 8);
        std::memcpy(&y, b + i, 8);
        if (x != y) break;
    }
    while (i < max && a[i] == b[i]) ++i;
    return i;
}

/// The length of the common suffix before a and b (their ends), up to `max`.
template <string_unit Unit>
std::size_t common_end(const Unit* a, const Unit* b, std::size_t max) {
    constexpr std::size_t at_once = 8 / sizeof(Unit);
    std::size_t i = 0;
    for (; i + at_once <= max; i += at_once) {
        std::uint64_t x, y;
        std::memcpy(&x, a - i - at_once, 8);
        std::memcpy(&y, b - i - at_once, 8);
        if (x != y) break;
    }
    while (i < max && *(a - i - 1) == *(b - i - 1)) ++i;
    return i;
}

inline constexpr std::int64_t max_diagonal_edits = 128;

/// The result of the diagonals: the distance, or the maximum number of rows of a that `edits` edits reach.
struct reach {
    std::uint32_t distance;
    std::int64_t edits, rows;
};

/// The distance if it is at most `max` (at most max_diagonal_edits). Gives up earlier if edits are so dense that the
/// distance would far exceed that. Diagonal k: b's unit i + k is next to a's unit i.
template <string_unit Unit>
reach by_diagonals(std::span<const Unit> a, std::span<const Unit> b, std::int64_t max) {
    const auto rows = static_cast<std::int64_t>(a.size()), columns = static_cast<std::int64_t>(b.size());
    const std::int64_t last = columns - rows;
    if (std::abs(last) > max) return {beyond_bound, max, 0};
    constexpr std::int64_t centre = max_diagonal_edits + 1, none = -(std::int64_t{1} << 40);
    std::int64_t rows_of[2][2 * centre + 1];
    for (auto& rows_of_parity : rows_of) std::fill_n(rows_of_parity + centre - max - 1, 2 * max + 3, none);
    std::int64_t furthest = 0;
    for (std::int64_t e = 0; e <= max; ++e) {
        const std::int64_t* const before = rows_of[e % 2] + centre;
        std::int64_t* const now = rows_of[1 - e % 2] + centre;
        // A diagonal is useless if the remaining edits do not reach the last one from it.
        const std::int64_t first = std::max({-e, last - (max - e), -rows});
        const std::int64_t end = std::min({e, last + (max - e), columns});
        if (first > -e) now[first - 1] = none;
        if (end < e) now[end + 1] = none;
        for (std::int64_t k = first; k <= end; ++k) {
            std::int64_t i = e == 0 ? 0 : std::max({before[k] + 1, before[k - 1], before[k + 1] + 1});
            i = std::min({i, rows, columns - k});
            if (i >= 0 && i + k >= 0)
                i += static_cast<std::int64_t>(
                    common_begin(a.data() + i, b.data() + i + k,
                                 static_cast<std::size_t>(std::min(rows - i, columns - k - i))));
            now[k] = i;
            furthest = std::max(furthest, i);
            if (k == last && i == rows) return {static_cast<std::uint32_t>(e), e, rows};
        }
        if (e != 0 && e % 8 == 0 && furthest * 3 * max < rows * 2 * e) return {beyond_bound, e, furthest};
    }
    return {beyond_bound, max, furthest};
}

}  // namespace quern::primitives::edit_distance_detail
