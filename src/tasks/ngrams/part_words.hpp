// SPDX-License-Identifier: Apache-2.0
// The words of a part of a corpus, as results of the task that counted its n-grams, so that the run that merges the counts need not
// split the texts into words again:
//
//   vocabulary   the number of distinct words; of each, the most frequent ones first, the length and the bytes
//   ids          of each word of the task its number in the vocabulary
//
// Which documents have them is in the result "words" (part_counts.hpp). A task with a dictionary writes neither: unknown words have no
// number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/scratch_table.hpp"
#include "tasks/ngrams/word_ranks.hpp"

namespace quern {

/// Tables of the vocabulary take memory of `share`, and `scratch` beyond it.
void write_part_words(const ngram_corpus& part, scratch_folder& scratch, table_share& share,
                      task_results& results, const context& ctx);

[[noreturn]] void refuse_other_words(const std::filesystem::path& job);

/// Words that follow each other in a corpus.
struct words_block {
    std::vector<std::uint32_t> numbers;           ///< of word_ranks
    std::vector<std::uint32_t> sentence_lengths;  ///< with marks, of the sentences that end here
    std::vector<std::uint64_t> lengths;           ///< of the documents that end here
};

/// Reads the words of all tasks of a job in the order of the corpus.
class words_of_job {
  public:
    /// `documents`: of the corpus. Numbers of the vocabularies take memory of `share`, and `scratch` beyond it.
    struct request {
        const std::filesystem::path& job;
        std::uint64_t documents;
        bool has_marks;
        word_ranks& ranks;
        scratch_folder& scratch;
        table_share& share;
        const context& ctx;
    };
    using taking = std::function<void(words_block&)>;

    /// `take` is called with blocks that it may empty.
    words_of_job(const request& of, const taking& take) : of_(of), take_(take) {}

    /// Returns how many words of the texts the marks excluded. Throws usage_error unless the tasks have the words of so many documents, each
    /// word once; damaged_store, io_error, out_of_memory, interrupted.
    std::uint64_t read();

  private:
    class part;
    void read_input(std::uint32_t first, std::uint32_t end);
    void take_segment(part& from);
    void flush_if(bool is_full);

    request of_;
    const taking& take_;
    words_block block_;
    std::uint64_t documents_ = 0, skipped_marks_ = 0;
};

}  // namespace quern
