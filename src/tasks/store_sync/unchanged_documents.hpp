// SPDX-License-Identifier: Apache-2.0
// Which documents of a build are those of the store that it replaces, so that their words are known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "tasks/store/document_duplicates.hpp"
#include "tasks/store_build/document_spool.hpp"
#include "tasks/store_build/duplicates.hpp"
#include "tasks/store_build/store_comparison.hpp"
#include "tasks/store_build/store_to_update.hpp"

namespace quern {

struct unchanged_documents {
    static constexpr std::uint32_t none = UINT32_MAX;

    /// Of each document of the new store, by its number: the number in the old one, or none. The numbers rise.
    std::vector<std::uint32_t> before;
    std::uint64_t count = 0;                       ///< of those that the old store has
    std::vector<std::uint32_t> changed_positions;  ///< the others: among the documents read
    std::vector<std::uint32_t> changed_numbers;    ///< the same in the new store
    compared_documents compared;                   ///< all, with the old store; not of an update
    bool are_texts = true;                         ///< no word lines or lists of words

    std::uint64_t memory_bytes() const {
        return (before.capacity() + changed_positions.capacity() + changed_numbers.capacity()) *
               sizeof(std::uint32_t);
    }
};

/// Compares the documents read, without those excluded, with those of the same ids in `old`: titles, texts and fields, byte by
/// byte; and the titles of their near-duplicates, which `duplicates` has of the new store. Documents whose order has changed
/// count as changed, as few as possible. All threads. Throws damaged_store, interrupted, and invalid_input if excluded documents
/// are missing. Memory: 16 bytes a document while it runs. Cost: one pass over the texts of both.
unchanged_documents find_unchanged(const document_spool& read, std::span<const excluded_document> excluded,
                                   const document_duplicates& duplicates, const store_comparison& old,
                                   const build_options& options, const context& ctx);

/// The same for an update: the first documents read are those that stay, and only the titles of near-duplicates are compared.
unchanged_documents find_unchanged(const document_spool& read, std::span<const excluded_document> excluded,
                                   const document_duplicates& duplicates, const store_to_update& old,
                                   const build_options& options, const context& ctx);

}  // namespace quern
