// SPDX-License-Identifier: Apache-2.0
// The parts of a collection that queries have requested so far, in a GPU's memory. Read by every compiler.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "device/cuda/cuda_place.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// The maximum number of lists of a query on a GPU: one per word, and a second one if titles with the word count.
inline constexpr std::size_t max_device_lists = 1024;

class device_collection {
  public:
    device_collection(cuda_place& place, const collection_view& collection);
    ~device_collection();
    device_collection(const device_collection&) = delete;  // its arrays point to the place
    device_collection& operator=(const device_collection&) = delete;

    /// Arguments are checked; queries have only terms, at most max_device_lists; k is at least 1. results[i] is the result
    /// of *queries[i].
    void search(std::span<const search_query* const> queries, const ranking_options& options, std::size_t k,
                std::span<std::vector<scored_document>> results);

    std::uint64_t bytes_brought() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

// Converts results of a device to rankings, on the threads of the context: for a thousand rankings of a thousand hits, one
// thread takes as long as the device did.

/// For documents without a word of the query.
inline constexpr std::int64_t no_score = std::numeric_limits<std::int64_t>::min();

/// Rows of `row` places, best first, no_score after the last hit; ids from `first` on. Appends row i to *rankings[i]; skips
/// it if that is null.
void append_rankings(std::span<const std::int64_t> scores, std::span<const std::uint32_t> ids,
                     std::size_t row, std::uint64_t first,
                     std::span<std::vector<scored_document>* const> rankings, const context& ctx);

}  // namespace quern::search_detail
