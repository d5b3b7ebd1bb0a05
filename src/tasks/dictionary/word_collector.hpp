// SPDX-License-Identifier: Apache-2.0
// Counts any number of words, within a memory budget.
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

    /// Adds the words of a part of the input, with their counts.
    void add(const word_count_table& words);

    /// Calls `sink` with every word once and its count, in rising byte order. May be called repeatedly; no words may be
    /// added after the first call.
    void for_each(const context& ctx,
                  const std::function<void(std::string_view word, std::uint64_t count)>& sink);

    std::uint64_t runs() const { return words_.runs(); }

  private:
    std::uint64_t count_of(std::uint32_t number) const { return words_.words().count(number); }

    word_runs words_;  ///< values: counts
    std::vector<std::uint32_t> numbers_of_unit_;
};

}  // namespace quern
