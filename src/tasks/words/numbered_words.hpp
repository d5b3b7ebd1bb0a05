// SPDX-License-Identifier: Apache-2.0
// The words of a corpus: numbered and counted while it is read, chosen at its end; any number of them within a memory
// budget.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "tasks/words/word_counts.hpp"
#include "tasks/words/word_runs.hpp"

namespace quern {

class numbered_words {
  public:
    /// Spills to `scratch`, which must outlive it, so as to hold about `memory_bytes` at most.
    numbered_words(scratch_folder& scratch, std::uint64_t memory_bytes) : words_(scratch, memory_bytes) {}

    /// Adds the words of a part of the input with their counts; `numbers` maps the numbers there to those here. A word
    /// has one number, or one for each sorted run that was spilled with it. Throws out_of_memory if the numbers exceed
    /// 32 bits.
    void add(const word_count_table& words, std::vector<std::uint32_t>& numbers);

    /// As choose_words. Once; consumes the words. `place` must outlive the result.
    chosen_words choose(std::uint64_t min_count, std::uint32_t max, cpu_place& place);
    /// The number of distinct words; known after choose().
    std::uint64_t distinct() const { return distinct_; }
    std::uint64_t spilled_bytes() const { return words_.spilled_bytes(); }

  private:
    /// Of a word and its counts in sorted runs: the word, its count, and a number and a count for each run.
    using visitor = std::function<void(std::string_view, std::uint64_t, std::span<const std::uint64_t>)>;
    /// All occurrences of a run, so that the number and the count of a word there make one value.
    static constexpr std::uint64_t max_count = std::numeric_limits<std::uint32_t>::max();

    std::uint64_t numbers() const { return base_ + words_.words().size(); }
    std::uint64_t value_of(std::uint32_t word) const {
        return (base_ + word) << 32 | words_.words().count(word);
    }
    void spill();
    void for_each(const context& ctx, const visitor& take);
    chosen_words choose_spilled(std::uint64_t min_count, std::uint32_t max, cpu_place& place);

    word_runs words_;  ///< values: numbers, in memory from base_ on, above counts
    std::uint64_t base_ = 0, distinct_ = 0;
    std::uint64_t occurrences_ = 0;  ///< of the words in memory
};

}  // namespace quern
