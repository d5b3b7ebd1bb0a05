// SPDX-License-Identifier: Apache-2.0
// Rank keys of rows and queries on the CPU.
#include <cstdint>
#include <span>

#include "ops/ranked_retrieval/tile.hpp"

namespace quern::ranked_retrieval_detail {

template <class Key>
void distance_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                   vector_metric metric, std::span<const std::uint32_t> rows, std::span<Key> keys) {
    reduction_keys(place, tile, queries, metric, rows, keys);
}

template void distance_keys(cpu_place&, const row_tile<cpu_place>&, const row_tile<cpu_place>&, vector_metric,
                            std::span<const std::uint32_t>, std::span<std::uint32_t>);
template void distance_keys(cpu_place&, const row_tile<cpu_place>&, const row_tile<cpu_place>&, vector_metric,
                            std::span<const std::uint32_t>, std::span<std::uint64_t>);

}  // namespace quern::ranked_retrieval_detail
