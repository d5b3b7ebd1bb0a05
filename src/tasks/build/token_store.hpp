// SPDX-License-Identifier: Apache-2.0
// The words of the collection in their order, while a store is written. Stretches wait as they were recorded, each word
// a number of its run; the merge of the words tells which ids these are; then all threads write the final form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "ops/search/indexing/merge.hpp"
#include "ops/search/indexing/token_run.hpp"
#include "quern/base/context.hpp"
#include "tasks/build/scratch_pieces.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

class token_store {
  public:
    /// Takes at most about `memory_bytes` of memory while the collection is read and merged; the rest lies in scratch.
    token_store(const scratch_folder& scratch, std::uint64_t memory_bytes);

    /// The run's words in their order, taken out of it; runs in the order of the collection.
    void append(search_detail::sorted_run& run);
    /// What the merge of the same runs gave, range by range in order.
    void take_words(const search_detail::merged_range& range);

    /// Writes the sections `tokens`, `token_ends` and `token_words`. Cost: about two nanoseconds a word, shared by all
    /// threads, of which each holds some 10 MB.
    std::vector<store_section> write(const std::filesystem::path& store,
                                     std::span<const std::uint32_t> document_lengths, const context& run);

    std::uint64_t spilled_bytes() const { return recorded_.spilled_bytes() + words_.spilled_bytes(); }

  private:
    std::size_t groups() const;
    std::size_t first_run(std::size_t group) const;
    void load_group(std::size_t group);

    scratch_pieces recorded_;               // one a run
    std::vector<std::uint32_t> documents_;  // of each run
    scratch_pieces words_;                  // one for each range and group of runs: each run's words in it
    std::size_t ranges_ = 0;                // merged so far
    std::uint32_t vocabulary_ = 0;          // words merged so far
    std::vector<std::uint32_t> next_;       // of each run: one above its last word so far
    search_detail::frequent_words frequent_;
    std::vector<std::string> words_of_runs_;  // of the group that is written
};

}  // namespace quern
