// SPDX-License-Identifier: Apache-2.0
// Words numbered while a corpus is read, put in byte order at its end, in any number within a budget of memory. A word has one
// number, or one for each sorted run that was spilled with it; the merge brings them together.
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
#include "tasks/words/word_tally.hpp"

namespace quern {

class word_ranks {
  public:
    /// Spills to `scratch`, which must outlive it, so as to hold about `memory_bytes` at most.
    word_ranks(scratch_folder& scratch, std::uint64_t memory_bytes);

    /// Takes in the words of a stretch of the input; `numbers` becomes the number here of each number there. Throws
    /// out_of_memory where there are more numbers than fit 32 bits.
    void add(const word_tally& words, std::vector<std::uint32_t>& numbers);

    std::uint64_t numbers() const { return base_ + words_.size(); }  ///< given so far
    std::uint64_t letters() const;  ///< bytes of all words with a number, at most
    std::uint64_t runs() const { return runs_.size(); }
    std::uint64_t spilled_bytes() const { return runs_.empty() ? 0 : runs_.back().end; }

    /// Calls `take` with every word once, in rising byte order, and its numbers. Once; nothing is added after.
    void for_each(
        const context& run,
        const std::function<void(std::string_view word, std::span<const std::uint32_t> numbers)>& take);

  private:
    struct sorted_word {
        std::uint64_t key;  ///< the first eight bytes, as a number
        std::uint32_t number;
    };
    struct stored_run {
        std::uint64_t begin, end;  ///< in spilled_
    };
    class run_on_disk;
    class stretch_in_memory;

    std::vector<sorted_word> unsorted() const;
    void sort(std::span<sorted_word> words) const;
    void spill();

    scratch_folder& scratch_;
    std::uint64_t memory_bytes_, base_ = 0, letters_spilled_ = 0;
    word_tally words_;  ///< numbered from base_
    std::unique_ptr<spill_file> spilled_;
    std::vector<stored_run> runs_;
};

}  // namespace quern
