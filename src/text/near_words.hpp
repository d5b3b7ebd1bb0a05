// SPDX-License-Identifier: Apache-2.0
// The words of a dictionary that are few edits away from one that it may lack.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "text/dictionary.hpp"

namespace quern::text {

struct near_word {
    std::uint32_t id, distance;
    friend bool operator==(const near_word&, const near_word&) = default;
};

/// All words at most `bound` edits away, by id. An edit is a character put in, left out or replaced, or two neighbours
/// exchanged that nothing else happens to (optimal string alignment: Damerau 1964). Characters are code points; bytes that are
/// none are characters by themselves. Safe to call from many threads. Throws `interrupted` soon after the run's stop flag is
/// raised.
/// Exact. Cost: the dictionary's order is walked as a tree, of which only what can still come near is entered; with bound
/// 2 a few hundredths of the words are read, with 3 nearly all.
std::vector<near_word> near_words(const dictionary_view& words, std::string_view word, std::uint32_t bound,
                                  const context& run);

}  // namespace quern::text
