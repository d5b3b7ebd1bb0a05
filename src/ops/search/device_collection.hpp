// SPDX-License-Identifier: Apache-2.0
// The parts of a collection that queries have requested so far, in a GPU's memory. Read by every compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/cuda/cuda_place.hpp"
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

}  // namespace quern::search_detail
