// SPDX-License-Identifier: Apache-2.0
// Counts words in any number, within a budget of memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "tasks/words/word_runs.hpp"

namespace quern {

class word_collector {
  public:
    /// Spills to `scratch`, which must outlive it, so as to hold about `memory_bytes` at most.
    word_collector(scratch_folder& scratch, std::uint64_t memory_bytes) : words_(scratch, memory_bytes) {}

    /// Takes in the words of a stretch of the input, with their counts.
    void add(const word_tally& words);

    /// Calls `take` with every word once and its count, in rising byte order. Any number of times; nothing is added
    /// after the first.
    void for_each(const context& run,
                  const std::function<void(std::string_view word, std::uint64_t count)>& take);

    std::uint64_t runs() const { return words_.runs(); }

  private:
    std::uint64_t count_of(std::uint32_t number) const { return words_.words().count(number); }

    word_runs words_;  ///< values: counts
    std::vector<std::uint32_t> numbers_of_unit_;
};

}  // namespace quern
