// SPDX-License-Identifier: Apache-2.0
// Which documents of a store are like a document: its vectors, held ready to be asked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "quern/base/context.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

struct similar_document {
    std::uint32_t document;
    double
        similarity;  ///< 1 less the cosine distance, which is rounded to a float, so that those closer than 2^-24 tie
    friend bool operator==(const similar_document&, const similar_document&) = default;
};

/// Thread-safe; questions are answered one at a time. The store must outlive it.
class document_vectors {
  public:
    /// Nothing where the store has no vectors. `run`: where they are held and compared (ops/ranked_retrieval). Cost: one
    /// pass over the vectors. Throws damaged_store, out_of_memory, device_error.
    static std::optional<document_vectors> of(const opened_store& store, const context& run);
    ~document_vectors();
    document_vectors(document_vectors&&) noexcept;
    document_vectors& operator=(document_vectors&&) noexcept;

    /// Whether a document has a vector: it holds words of the thesaurus that not every document holds.
    bool has(std::uint32_t document) const;
    /// The `k` documents most similar to one, by falling similarity, then rising number; all of them where k is as many.
    /// Never the document itself, none without a vector; none at all for one without. Contract class: exact. Throws
    /// usage_error for a document that there is not. Cost: one pass over the vectors.
    std::vector<similar_document> most_similar(std::uint32_t document, std::uint64_t k) const;

  private:
    struct state;
    explicit document_vectors(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace quern
