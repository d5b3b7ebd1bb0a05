// SPDX-License-Identifier: Apache-2.0
// Any number of words with a value each (a count, a number), within a memory budget: beyond it sorted runs on disk,
// then one merge.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "quern/base/context.hpp"
#include "tasks/words/word_counts.hpp"

namespace quern {

class word_runs {
  public:
    /// The value of a word of `words()`, by its number there.
    using value_of_word = std::function<std::uint64_t(std::uint32_t number)>;

    /// Spills to `scratch`, which must outlive it, so as to hold about `memory_bytes` at most.
    word_runs(scratch_folder& scratch, std::uint64_t memory_bytes);

    /// Those in memory, to add to.
    word_count_table& words() { return words_; }
    const word_count_table& words() const { return words_; }
    /// Whether they should be spilled: their arrays double when they grow, and sorting needs additional memory.
    bool full() const { return words_.memory_bytes() > memory_bytes_ / 4; }
    /// Makes them a run on disk; none remain in memory.
    void spill(const value_of_word& value_of);

    std::uint64_t runs() const { return runs_.size(); }
    std::uint64_t spilled_bytes() const { return runs_.empty() ? 0 : runs_.back().end; }

    /// Calls `sink` with every word once, in rising byte order, and its values, which rise: one for each run that has
    /// it and one for the words in memory. May be called repeatedly; nothing may be added after the first call.
    void for_each(
        const context& ctx, const value_of_word& value_of,
        const std::function<void(std::string_view word, std::span<const std::uint64_t> values)>& sink);
    /// Frees the memory of words(), after all have been taken.
    void forget_words();

  private:
    struct sorted_word {
        std::uint64_t key;  ///< the first eight bytes, as a number
        std::uint32_t number;
    };
    struct stored_run {
        std::uint64_t begin, end;  ///< in spilled_
    };
    class run_on_disk;
    class range_in_memory;

    std::vector<sorted_word> unsorted() const;
    void sort(std::span<sorted_word> words) const;
    void sort_ranges(const context& ctx);

    scratch_folder& scratch_;
    std::uint64_t memory_bytes_;
    word_count_table words_;
    std::unique_ptr<spill_file> spilled_;
    std::vector<stored_run> runs_;
    std::vector<sorted_word> sorted_;      ///< words_, in segments that are each sorted
    std::vector<std::size_t> range_ends_;  ///< of sorted_
    bool complete_ = false;
};

}  // namespace quern
