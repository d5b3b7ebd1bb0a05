// SPDX-License-Identifier: Apache-2.0
// Phrases with slop: words near each other, as Lucene defines it. Word i of the phrase stands at a position q(i) of the
// document, two words never at the same one, and the shifts q(i) - i differ by at most the slop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/search/phrases.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// The number of places s of a document, for which every word i of the phrase stands at one of the positions from s + i to
/// s + i + slop, and at least one at s + i itself. With slop 0 these are the occurrences of the phrase, including
/// overlapping ones. `phrase` is not empty. Time: O(w + m log w) for w words in the document, of which m are in the phrase,
/// for a phrase of constant length.
std::uint32_t count_places(std::span<const std::uint32_t> document, std::span<const std::uint32_t> phrase,
                           std::uint32_t slop);

/// Every document with such a place, ascending, with their number as the frequency. As find_phrase otherwise; `followed`
/// is 0. Throws `interrupted` if the stop flag of `ctx` is set. Cost: the words of all documents that have every word.
std::vector<phrase_posting> find_near(const collection_view& collection, const token_stream& tokens,
                                      std::span<const phrase_word> phrase, std::uint32_t slop,
                                      const context* ctx = nullptr);

/// Every document with both words within `window` words, in any order, ascending. The frequency is the number of positions of
/// either word from which the other one follows within window - 1 words; of a word paired with itself, of its positions with
/// another one there. `followed` is 0. Otherwise as find_near.
std::vector<phrase_posting> find_window(const collection_view& collection, const token_stream& tokens,
                                        const phrase_word& a, const phrase_word& b, std::uint32_t window,
                                        const context* ctx = nullptr);

}  // namespace quern::search_detail
