// SPDX-License-Identifier: Apache-2.0
// A collection searched with many queries at a time: on GPUs, whose memory caches the lists, or by the threads of
// a CPU.
//
//     resident_index resident(collection, run);
//     std::vector<std::vector<scored_document>> found = resident.search(queries, options, k);
//
// Contract class: exact. Every ranking equals that of `search` (quern/ops/search.hpp), bit for bit, on every
// device.
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

/// Record of all calls so far.
struct resident_record {
    std::string place;                 ///< the device, with the reason
    std::uint64_t queries = 0;         ///< answered
    std::uint64_t queries_on_cpu = 0;  ///< of these, by the CPU although a GPU was chosen
    std::uint64_t bytes_brought = 0;   ///< of lists copied to GPUs
};

/// Move-only; one call at a time.
class resident_index {
  public:
    /// The collection's memory must outlive it. Throws as choose_device does.
    resident_index(const collection_view& collection, const context& ctx);
    /// On devices that are already chosen. Several GPUs share a batch of queries in units of about
    /// `documents_a_unit`, counted once for each query, at least 1; each GPU that takes a unit copies the lists of
    /// its queries. By default 1 to 5 ms of an H200.
    resident_index(const collection_view& collection, const context& ctx, const chosen_device& chosen,
                   std::uint64_t documents_a_unit = std::uint64_t{1} << 28);
    ~resident_index();
    resident_index(resident_index&&) noexcept;
    resident_index& operator=(resident_index&&) noexcept;

    /// One ranking per query. Results and errors are those of `search`; it also checks bytes of lists that
    /// `search` would skip.
    /// On a GPU, a list is copied at its first use and recognised by the address of its bytes, which must not
    /// change while this object exists. Lists stay there while they fit. If the budget is too small, queries
    /// run in smaller batches and the collection in ranges of documents; if it cannot hold the lists of one
    /// query over 4,096 documents, throws out_of_memory.
    /// The CPU runs queries with `allowed`, `excluded` or `listed` documents, a prior, continuations or weights
    /// of terms, and those of more than 512 words.
    /// Cost: on a GPU O(postings of the terms + documents) per query, for any k; the memory of the results.
    std::vector<std::vector<scored_document>> search(std::span<const search_query> queries,
                                                     const ranking_options& options, std::size_t k);

    const resident_record& record() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
