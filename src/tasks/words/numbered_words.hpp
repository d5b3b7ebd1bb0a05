// SPDX-License-Identifier: Apache-2.0
// The words of a corpus: numbered and counted while it is read, chosen at its end; any number of them within a memory
// budget.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "tasks/words/number_stream.hpp"
#include "tasks/words/word_counts.hpp"
#include "tasks/words/word_runs.hpp"

namespace quern {

class numbered_words {
  public:
    /// Spills to `scratch`, which must outlive it, so as to hold about `memory_bytes` at most.
    numbered_words(scratch_folder& scratch, std::uint64_t memory_bytes)
        : words_(scratch, memory_bytes), counts_(scratch, "word_counts", memory_bytes / 4) {}

    /// Adds the words of a part of the input with their counts; `numbers` maps the numbers there to those here. A word
    /// has one number, or one for each sorted run that was spilled with it. Throws out_of_memory if the numbers exceed
    /// 32 bits.
    void add(const word_count_table& words, std::vector<std::uint32_t>& numbers);

    /// As choose_words. Once; consumes the words. `place` must outlive the result.
    chosen_words choose(std::uint64_t min_count, std::uint32_t max, cpu_place& place);
    /// The number of distinct words; known after choose().
    std::uint64_t distinct() const { return distinct_; }
    std::uint64_t spilled_bytes() const { return words_.spilled_bytes() + counts_.spilled_bytes(); }

  private:
    using visitor = std::function<void(std::string_view, std::uint64_t, std::span<const std::uint64_t>)>;

    std::uint64_t numbers() const { return base_ + words_.words().size(); }
    void spill();
    void for_each(const context& ctx, std::span<const std::uint64_t> counts, const visitor& take);
    chosen_words choose_spilled(std::uint64_t min_count, std::uint32_t max, cpu_place& place);

    word_runs words_;  ///< values: numbers, in memory from base_ on
    std::uint64_t base_ = 0, distinct_ = 0;
    number_stream<std::uint64_t> counts_;  ///< by number, of those that were spilled
};

}  // namespace quern
