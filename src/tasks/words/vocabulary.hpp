// SPDX-License-Identifier: Apache-2.0
// Which words a space has, and their ids: the most frequent ones, by falling frequency, then by bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/words/word_tally.hpp"

namespace quern {

struct chosen_words {
    std::vector<std::string> words;  ///< by id
    std::vector<std::uint64_t> frequencies;
    std::vector<std::uint32_t> id_of;  ///< of each number of the tally; unknown_word where it is not chosen

    std::uint32_t size() const { return static_cast<std::uint32_t>(words.size()); }
};

chosen_words choose_words(const word_tally& distinct, std::uint64_t min_count, std::uint32_t most);

}  // namespace quern
