// SPDX-License-Identifier: Apache-2.0
// The words of the collection in order, while a store is written. Runs are kept as recorded, with each word as a number
// of its run; the merge of the words determines the ids; then all threads write the final form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "ops/search/indexing/index_runs.hpp"
#include "quern/base/context.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

// Pieces of bytes kept for later: in memory while they fit their share of the budget, on disk beyond.

/// First one thread at a time appends all pieces; then, after flush(), they are taken.
class scratch_pieces {
  public:
    /// Pieces take at most `memory_bytes` of memory; the rest is in `scratch_file`, created on demand.
    scratch_pieces(std::filesystem::path scratch_file, std::uint64_t memory_bytes);

    void append(std::string piece);
    std::size_t size() const { return pieces_.size(); }
    std::uint64_t spilled_bytes() const { return spilled_; }

    void flush();
    /// Returns piece i, once. Different threads may take different pieces.
    std::string take(std::size_t i);

  private:
    struct piece {
        std::string bytes;  // empty once on disk
        std::uint64_t begin = 0, size = 0;
    };
    void spill(piece& p);

    std::filesystem::path path_;
    std::uint64_t budget_, held_ = 0, spilled_ = 0;
    std::unique_ptr<spill_file> file_;
    std::vector<piece> pieces_;
    std::size_t in_memory_ = 0;  // the first piece that is not on disk
};

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
