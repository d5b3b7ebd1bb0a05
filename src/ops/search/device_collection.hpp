// SPDX-License-Identifier: Apache-2.0
// A collection in a GPU's memory, as far as it was asked for. Read by every compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/cuda/place.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// Lists that a query may have at a GPU: a word has one, and one more where it has titles that count.
inline constexpr std::size_t most_lists_there = 1024;

class device_collection {
  public:
    device_collection(cuda_place& place, const collection_view& collection);
    ~device_collection();
    device_collection(const device_collection&) = delete;  // its arrays point to the place
    device_collection& operator=(const device_collection&) = delete;

    /// Arguments are checked; queries have terms alone, most_lists_there at most; k is at least 1. results[i] is that of
    /// *queries[i].
    void search(std::span<const search_query* const> queries, const ranking_options& options, std::size_t k,
                std::span<std::vector<scored_document>> results);

    std::uint64_t bytes_brought() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern::search_detail
