// SPDX-License-Identifier: Apache-2.0
// The part of a document that best shows why it matches a query, chosen by the positions of its matches and the weights
// of the terms alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::search_detail {

/// The weight of a word in passages if this many of the collection's documents have it: 1 if all have it, 4 · ln 2 more
/// for each halving of that number.
std::uint32_t weight_in_passages(std::uint64_t documents, std::uint64_t holders);

/// Whether more than three quarters of the documents have a word. Next to rarer words it contributes nothing to a
/// passage.
constexpr bool is_common(std::uint64_t documents, std::uint64_t holders) {
    return holders > documents - documents / 4;
}

/// An occurrence of a term in a text.
struct passage_match {
    std::uint32_t what;  ///< a term's index among the weights
    std::uint32_t begin, end;
};

struct match_range {
    std::uint32_t begin = 0, end = 0;
};

/// The best passage from one match to another that is no longer than `max_bytes`. Two windows slide with the same end:
/// the longest one, and the shortest one that has all of its distinct terms. `matches`: by begin; none ends before an
/// earlier one does. O(matches).
match_range best_match_range(std::span<const passage_match> matches, std::span<const std::uint32_t> weights,
                             std::size_t max_bytes);

}  // namespace quern::search_detail
