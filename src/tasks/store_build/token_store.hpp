// SPDX-License-Identifier: Apache-2.0
// The words of the collection in order, while a store is written. Runs are kept as recorded, with each word as a number
// of its run; the merge of the words determines the ids; then all threads write the final form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "ops/search/indexing/index_runs.hpp"
#include "quern/base/context.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store_build/scratch_pieces.hpp"

namespace quern {

class token_store {
  public:
    /// Takes at most about `memory_bytes` of memory while the collection is read and merged; the rest is in scratch.
    token_store(const scratch_folder& scratch, std::uint64_t memory_bytes);

    /// Moves the run's words, in order, out of it; runs in the order of the collection.
    void append(search_detail::sorted_run& run);
    /// The result of merging the same runs, range by range in order.
    void take_words(const search_detail::merged_range& range);

    /// Writes the sections `tokens`, `token_ends` and `token_words`. Cost: about two nanoseconds a word, shared by all
    /// threads, each of which holds about 10 MB.
    std::vector<store_section> write(const std::filesystem::path& store,
                                     std::span<const std::uint32_t> document_lengths, const context& ctx);

    std::uint64_t spilled_bytes() const { return recorded_.spilled_bytes() + words_.spilled_bytes(); }

  private:
    std::size_t groups() const;
    std::size_t first_run(std::size_t group) const;
    void load_group(std::size_t group);

    scratch_pieces recorded_;               // one per run
    std::vector<std::uint32_t> documents_;  // of each run
    scratch_pieces words_;                  // one for each range and group of runs: each run's words in it
    std::size_t ranges_ = 0;                // merged so far
    std::uint32_t vocabulary_ = 0;          // words merged so far
    std::vector<std::uint32_t> next_;       // of each run: one above its last word so far
    search_detail::frequent_words frequent_;
    std::vector<std::string> words_of_runs_;  // of the current group
};

}  // namespace quern
