// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// How the work is split; results do not depend on it. Tests run all variants.
struct strategy {
    static constexpr std::uint32_t largest_window = 4096;
    std::uint32_t window = largest_window;  ///< documents scored together, 1 to largest_window
    bool prune = true;                      ///< skip what cannot reach the best k
};

/// Throws the errors of `search` for a query before it reads lists.
void check_query(const collection_view& collection, const search_query& query,
                 const ranking_options& options);

/// `search` after its checks: arguments are valid, k is at least 1.
std::vector<scored_document> rank_cpu(const collection_view& collection, const search_query& query,
                                      const ranking_options& options, std::size_t k,
                                      const strategy& how = {});

/// The same for any query, without pruning: for those with continuations or a list.
std::vector<scored_document> rank_unpruned(const collection_view& collection, const search_query& query,
                                           const ranking_options& options, std::size_t k,
                                           const strategy& how);

/// `explain` after its checks.
std::vector<score_parts> parts_of(const collection_view& collection, const search_query& query,
                                  const ranking_options& options, std::uint32_t document);

}  // namespace quern::search_detail
