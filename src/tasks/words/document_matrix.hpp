// SPDX-License-Identifier: Apache-2.0
// Words by documents, for latent semantic analysis of documents: log-entropy weights (Dumais, "Improving the retrieval
// of information from external sources", 1991), the customary ones,
//     log(1 + f) · (1 + Σ p log p / log D),  f: occurrences in the document, p = f / all occurrences, D documents:
// what counts is how often a word occurs where it occurs, and how unevenly over the documents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/ops/word_similarity.hpp"

namespace quern {

class document_matrix {
  public:
    explicit document_matrix(std::uint32_t words, std::uint64_t memory_bytes)
        : words_(words), budget_(memory_bytes), seen_(words) {}

    /// The next document: ids of words, and marks, which do not count. Throws out_of_memory beyond the budget.
    void add(std::span<const std::uint32_t> text);
    std::uint32_t documents() const { return static_cast<std::uint32_t>(ends_.size()); }
    /// Once, last. Column d is document d; a weight of 0 is no entry.
    context_matrix finish();

  private:
    struct occurrence {
        std::uint32_t word, count;
    };
    std::uint32_t words_;
    std::uint64_t budget_;
    std::vector<std::uint32_t> seen_;  ///< by word, in the document at hand
    std::vector<std::uint32_t> touched_;
    std::vector<occurrence> all_;  ///< document by document, words rising
    std::vector<std::uint64_t> ends_;
};

}  // namespace quern
