// SPDX-License-Identifier: Apache-2.0
// Ids as read → nodes 0, 1, 2 … by rising id.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "io/graph/named_graph.hpp"
#include "io/lines/link_block.hpp"
#include "io/lines/node_id_table.hpp"

namespace quern::io {

/// Links [begin, end) have ids of one kind.
struct id_range {
    std::uint64_t begin = 0, end = 0;
    id_kind kind = id_kind::narrow;
    const integer_table* integers = nullptr;
    const word_table* words = nullptr;
};

struct ids_read {
    std::vector<id_range> ranges;                          ///< of all links, in order
    std::uint32_t least = ~std::uint32_t{0}, largest = 0;  ///< of narrow ids
    std::vector<const integer_table*> integers;
    std::vector<const word_table*> words;
};

/// Maximum number of nodes of a graph.
inline constexpr std::uint64_t max_nodes = 0xfffffffd;

/// Replaces ids in `links` by nodes. Throws invalid_input, naming `input`, for more than max_nodes, and out_of_memory.
///
/// Additional memory: two bits for each integer from the smallest id to the largest, if these take no more than the
/// links' own bytes; otherwise up to 24 bytes a link. For names and integers beyond 32 bits, 36 bytes for each that a
/// thread saw.
node_names number_nodes(cpu_place& position_block, std::span<link> links, const ids_read& ids,
                        std::string_view input);

}  // namespace quern::io
