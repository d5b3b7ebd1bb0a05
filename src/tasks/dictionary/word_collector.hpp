// SPDX-License-Identifier: Apache-2.0
// Counts words in any number, within a budget of memory: sorted runs on disk where it ends, one merge.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "quern/base/context.hpp"
#include "tasks/words/word_tally.hpp"

namespace quern {

class word_collector {
  public:
    /// Spills to `scratch`, which must outlive it, so as to hold about `memory_bytes` at most.
    word_collector(scratch_folder& scratch, std::uint64_t memory_bytes);

    /// Takes in the words of a stretch of the input, with their counts.
    void add(const word_tally& words);

    /// Calls `take` with every word once and its count, in rising byte order. Any number of times; nothing is added
    /// after the first.
    void for_each(const context& run,
                  const std::function<void(std::string_view word, std::uint64_t count)>& take);

    std::uint64_t runs() const { return runs_.size(); }

  private:
    struct sorted_number {
        std::uint64_t key;  ///< the first eight bytes of the word, as a number
        std::uint32_t number;
    };
    struct stored_run {
        std::uint64_t begin, end;  ///< in spilled_
    };
    struct merge;

    std::vector<sorted_number> numbers() const;
    void sort(std::vector<sorted_number>& part, std::size_t begin, std::size_t end) const;
    void spill();

    scratch_folder& scratch_;
    std::uint64_t memory_bytes_;
    word_tally words_;
    std::vector<std::uint32_t> numbers_of_unit_;
    std::unique_ptr<spill_file> spilled_;
    std::vector<stored_run> runs_;
    std::vector<sorted_number> sorted_;      ///< words_, in stretches that are each sorted
    std::vector<std::size_t> stretch_ends_;  ///< of sorted_
    bool complete_ = false;
};

}  // namespace quern
