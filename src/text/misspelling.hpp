// SPDX-License-Identifier: Apache-2.0
// How likely a word was typed instead of another.
#pragma once

#include <cstdint>
#include <string_view>

namespace quern::text {

/// A plain edit: a letter inserted or deleted.
inline constexpr std::uint32_t plain_edit = 4;

/// The cost of the cheapest way from the typed word to the intended one; 0 for the same word.
/// - a letter doubled, or a double letter written once: 2
/// - two neighbours transposed: 3
/// - a letter inserted or deleted: 4
/// - a letter replaced: 5
/// - 2 more for an edit that changes the first letter (people rarely mistake it), unless it doubles that letter
///
/// As with near_words, transposed letters are not edited otherwise, and characters are code points. Cost: the product
/// of the lengths.
std::uint32_t misspelling_cost(std::string_view typed, std::string_view meant);

}  // namespace quern::text
