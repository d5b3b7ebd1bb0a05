// SPDX-License-Identifier: Apache-2.0
// The differences of two sequences: the fewest insertions and deletions (Myers, "An O(ND) Difference Algorithm and Its
// Variations", 1986), for display, not for counting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace quern::report {

/// a[a_begin, a_end) is replaced by b[b_begin, b_end); one of the two may be empty.
struct change {
    std::size_t a_begin, a_end, b_begin, b_end;
    friend bool operator==(const change&, const change&) = default;
};

/// The changes in order; between two of them the sequences are equal. If more than `max_edits` are needed, everything
/// between the common beginning and the common end is one change. Time and memory: O(lengths + max_edits²).
std::vector<change> differences(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                std::size_t max_edits = 1000);

/// Consecutive views that together make up the text.
using pieces = std::vector<std::string_view>;
pieces lines_of(std::string_view text);  ///< each with its line end
pieces words_of(
    std::string_view text);  ///< runs of letters and digits, runs of blanks, other characters one by one

/// The changes between two lists of pieces, compared by their bytes.
std::vector<change> differences(const pieces& a, const pieces& b, std::size_t max_edits = 1000);

}  // namespace quern::report
