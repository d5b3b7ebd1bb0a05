// SPDX-License-Identifier: Apache-2.0
// Words numbered while a corpus is read and put in byte order at its end; any number of them within a memory budget. A
// word has one number, or one for each sorted run that was spilled with it; the merge brings them together.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tasks/words/word_runs.hpp"

namespace quern {

class word_ranks {
  public:
    /// Spills to `scratch`, which must outlive it, so as to hold about `memory_bytes` at most.
    word_ranks(scratch_folder& scratch, std::uint64_t memory_bytes) : words_(scratch, memory_bytes) {}

    /// Adds the words of a part of the input; `numbers` maps the numbers there to those here. Throws out_of_memory if
    /// the numbers exceed 32 bits.
    void add(const word_count_table& words, std::vector<std::uint32_t>& numbers);

    std::uint64_t numbers() const { return base_ + words_.words().size(); }  ///< assigned so far
    std::uint64_t letters() const;  ///< bytes of all words with a number, at most
    /// With what for_each() sorts them by.
    std::uint64_t memory_bytes() const {
        return words_.words().memory_bytes() + 16 * std::uint64_t{words_.words().size()};
    }
    std::uint64_t runs() const { return words_.runs(); }
    std::uint64_t spilled_bytes() const { return words_.spilled_bytes(); }

    /// Calls `sink` with every word once, in rising byte order, and its numbers. Once; nothing may be added afterwards.
    void for_each(
        const context& ctx,
        const std::function<void(std::string_view word, std::span<const std::uint32_t> numbers)>& sink);

  private:
    std::uint64_t number_of(std::uint32_t word) const { return base_ + word; }

    word_runs words_;  ///< values: numbers, in memory from base_ on
    std::uint64_t base_ = 0, letters_spilled_ = 0;
};

}  // namespace quern
