// SPDX-License-Identifier: Apache-2.0
// The words of a space, and their ids: the most frequent ones, by falling frequency, then by bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/spilled_array.hpp"
#include "tasks/words/word_counts.hpp"

namespace quern {

struct chosen_words {
    std::vector<std::string> words;  ///< by id
    std::vector<std::uint64_t> frequencies;
    spilled_array<std::uint32_t> id_of;  ///< of each number of the counts; unknown_word if it is not chosen

    std::uint32_t size() const { return static_cast<std::uint32_t>(words.size()); }
};

/// `place` must outlive the result.
chosen_words choose_words(const word_count_table& distinct, std::uint64_t min_count, std::uint32_t max,
                          cpu_place& place);

}  // namespace quern
