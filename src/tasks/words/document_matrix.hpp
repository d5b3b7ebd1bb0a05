// SPDX-License-Identifier: Apache-2.0
// Words by documents, for latent semantic analysis of documents: log-entropy weights (Dumais, "Improving the retrieval
// of information from external sources", 1991), the customary ones,
//     log(1 + f) · (1 + Σ p log p / log D),  f: occurrences in the document, p = f / all occurrences, D documents:
// they depend on how often a word occurs in its documents, and how unevenly it is distributed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "device/files/spilled_array.hpp"
#include "device/paced_checks.hpp"
#include "quern/ops/word_similarity.hpp"
#include "tasks/words/number_stream.hpp"

namespace quern {

class document_matrix {
  public:
    /// Holds at most about the context's memory; the rest is in scratch files. `scratch` must outlive it.
    document_matrix(std::uint32_t words, scratch_folder& scratch, const context& ctx);

    /// The next document: ids of words, and marks, which do not count.
    void add(std::span<const std::uint32_t> text);
    std::uint32_t documents() const {
        return static_cast<std::uint32_t>(ends_.size() + waiting_ends_.size());
    }
    /// Makes the matrix: once, last. Column d is document d; a weight of 0 is not an entry.
    void finish();
    context_matrix_view view() const {
        return {words_, 1, offsets_, columns_.span(), weights_.span(), column_counts_};
    }
    std::uint64_t spilled_bytes() const {
        return all_.spilled_bytes() + columns_.spilled_bytes() + weights_.spilled_bytes();
    }

  private:
    struct occurrence {
        std::uint32_t word, count;
    };
    void count_waiting();
    /// Appends to all: in one batch, so that few steps of many threads follow each other later.
    void append(std::vector<std::vector<occurrence>> found);
    /// Calls work(part of the words, checks) on every thread.
    template <class Work>
    void for_each_part(const Work& work);
    /// Calls work(document, its occurrences in the batch) for a batch after `before` others.
    template <class Work>
    void for_each_document(std::span<const occurrence> batch, std::uint64_t before, paced_checks& checks,
                           const Work& work) const;
    void place_entries(std::vector<double> evenness, std::span<const std::uint64_t> documents_of);

    std::uint32_t words_;
    cpu_place place_;
    std::size_t counted_at_once_;
    std::vector<std::uint32_t> waiting_;            ///< the texts of documents that are not counted yet
    std::vector<std::size_t> waiting_ends_;         ///< of each of them
    std::vector<std::vector<std::uint32_t>> seen_;  ///< by word, in the current document of a piece of work
    number_stream<occurrence> all_;                 ///< document by document, words rising
    std::uint64_t occurrences_ = 0;
    std::vector<std::uint64_t> ends_;

    std::vector<std::uint64_t> offsets_, column_counts_;
    spilled_array<std::uint32_t> columns_;
    spilled_array<float> weights_;
};

}  // namespace quern
