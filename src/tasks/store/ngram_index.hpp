// SPDX-License-Identifier: Apache-2.0
// Pairs of words that follow each other, as the stage `ngrams` lists them: all pairs of which both words are frequent. So
// the index knows of each such pair whether it occurs; of others, one word has few documents to look through.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quern/ops/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// Whether a word with so many documents, of `documents`, is in pairs of the index: in one document of 128, at least 64.
constexpr bool is_in_pairs(std::uint64_t documents, std::uint64_t holders) {
    return holders >= std::max<std::uint64_t>(64, documents / 128);
}

/// Makes `key` the pair as it is in the index's dictionary: no word has a line end.
inline void set_pair_key(std::string& key, std::string_view first, std::string_view second) {
    key.assign(first).append("\n").append(second);
}

/// The documents of a pair, its words by their ids; nothing if the store's index does not know.
std::optional<posting_list> indexed_pair(const opened_store& store, std::uint32_t first,
                                         std::uint32_t second);

}  // namespace quern
