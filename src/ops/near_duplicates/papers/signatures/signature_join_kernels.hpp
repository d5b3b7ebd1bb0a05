// SPDX-License-Identifier: Apache-2.0
// The filter of signature_join.hpp with the vector registers of the current processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::near_duplicates_detail {

/// Codes by planes: bits of words[n · stride + row] mark the letters that the row has n + 1 times or more.
struct code_planes {
    const std::uint64_t* words;
    std::size_t stride;
    unsigned levels;  ///< even
};

/// Two rows that the filter does not exclude.
struct row_pair {
    std::uint32_t a, b;
};

/// Compares rows [a_begin, a_end) with rows [b_begin, b_end), with `triangle` only those after the first row itself. Writes
/// the pairs whose codes differ in at most `limit` bits to `pairs` (which must hold all); returns their number. Ascending
/// by (a, b).
std::size_t filter_rows(const code_planes& codes, std::uint32_t a_begin, std::uint32_t a_end,
                        std::uint32_t b_begin, std::uint32_t b_end, bool triangle, std::uint64_t limit,
                        row_pair* pairs);

}  // namespace quern::near_duplicates_detail
