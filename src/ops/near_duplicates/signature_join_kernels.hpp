// SPDX-License-Identifier: Apache-2.0
// The filter of signature_join.hpp in the vector registers of the processor at hand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::near_duplicates_detail {

/// Codes by planes: words[n · stride + row] says which letters the row has n + 1 times or more.
struct code_planes {
    const std::uint64_t* words;
    std::size_t stride;
    unsigned levels;  ///< even
};

/// Two rows of which the filter does not know that they are too far apart.
struct row_pair {
    std::uint32_t a, b;
};

/// Rows [a_begin, a_end) against rows [b_begin, b_end), with `triangle` only those behind the first row itself:
/// the pairs whose codes differ in at most `limit` bits, into `pairs` (room for all); their number. Rising by (a, b).
std::size_t filter_rows(const code_planes& codes, std::uint32_t a_begin, std::uint32_t a_end,
                        std::uint32_t b_begin, std::uint32_t b_end, bool triangle, std::uint64_t limit,
                        row_pair* pairs);

}  // namespace quern::near_duplicates_detail
