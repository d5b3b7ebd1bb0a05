// SPDX-License-Identifier: Apache-2.0
// Finds similar documents of a store: its vectors, held ready for queries.
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
    double similarity;  ///< 1 minus the cosine distance, which has 32 significant bits
    friend bool operator==(const similar_document&, const similar_document&) = default;
};

/// Thread-safe; queries run one at a time. The store must outlive it.
class document_vectors {
  public:
    /// Nothing if the store has no vectors. `ctx`: where they are held and compared (ops/nearest). Cost: one
    /// pass over the vectors. Throws damaged_store, out_of_memory, device_error.
    static std::optional<document_vectors> of(const opened_store& store, const context& ctx);
    ~document_vectors();
    document_vectors(document_vectors&&) noexcept;
    document_vectors& operator=(document_vectors&&) noexcept;

    /// Whether a document has a vector: it has words of the thesaurus that some other documents lack.
    bool has(std::uint32_t document) const;
    /// The `k` documents most similar to a given one, by falling similarity, then rising number; all of them if there
    /// are not more than k. Excludes the document itself and those without a vector; none at all if it has no vector.
    /// Contract class: exact. Throws usage_error if the document does not exist. Cost: one pass over the vectors.
    std::vector<similar_document> nearest_documents(std::uint32_t document, std::uint64_t k) const;

  private:
    struct state;
    explicit document_vectors(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace quern
