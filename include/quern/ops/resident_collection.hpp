// SPDX-License-Identifier: Apache-2.0
// A collection that is searched with many queries at a time: on a GPU, whose memory keeps what was read, or by the threads
// of a CPU.
//
//     resident_collection resident(collection, run);
//     std::vector<std::vector<scored_document>> found = resident.search(queries, options, k);
//
// Contract class: exact. Every ranking is that of `search` (quern/ops/search.hpp), bit for bit, on every place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/search.hpp"

namespace quern {

/// What the calls did so far.
struct resident_record {
    std::string place;                 ///< where they ran, and why there
    std::uint64_t queries = 0;         ///< answered
    std::uint64_t queries_on_cpu = 0;  ///< of these, by the CPU beside a GPU
    std::uint64_t bytes_brought = 0;   ///< of lists to the GPU
};

/// Move-only; one call at a time.
class resident_collection {
  public:
    /// The collection's memory must outlive it. Throws as choose_device does.
    resident_collection(const collection_view& collection, const context& run);
    /// On a device that was chosen already.
    resident_collection(const collection_view& collection, const context& run, const chosen_device& chosen);
    ~resident_collection();
    resident_collection(resident_collection&&) noexcept;
    resident_collection& operator=(resident_collection&&) noexcept;

    /// One ranking a query, as `search` gives it, and thrown as there; bytes of a list that `search` would pass over are
    /// looked at too. On a GPU a list is brought when it is first asked for and known again by where its bytes lie: these
    /// must not change as long as this lives. Lists stay there while they fit; where the budget is short, queries are taken
    /// in smaller batches and the collection in ranges of documents, and where it does not hold the lists of one
    /// query over 4,096 documents: out_of_memory. The CPU answers queries with `allowed`, `left_out`
    /// or `listed` documents, a prior, continuations or weights of terms, and those of more than 512 words.
    /// Cost: on a GPU O(postings of the terms + documents) for each query, whatever k; the memory of the results.
    std::vector<std::vector<scored_document>> search(std::span<const search_query> queries,
                                                     const ranking_options& options, std::size_t k);

    const resident_record& record() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
