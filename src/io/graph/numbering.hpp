// SPDX-License-Identifier: Apache-2.0
// Ids as they were read → nodes 0, 1, 2 … by rising id.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/cpu/place.hpp"
#include "io/graph/id_table.hpp"
#include "io/graph/link_block.hpp"
#include "io/graph/named_graph.hpp"

namespace quern::io {

/// Links [begin, end) hold ids of one kind.
struct id_stretch {
    std::uint64_t begin = 0, end = 0;
    id_kind kind = id_kind::narrow;
    const integer_table* integers = nullptr;
    const word_table* words = nullptr;
};

struct ids_read {
    std::vector<id_stretch> stretches;                     ///< of all links, in order
    std::uint32_t least = ~std::uint32_t{0}, largest = 0;  ///< of narrow ids
    std::vector<const integer_table*> integers;
    std::vector<const word_table*> words;
};

/// The most nodes of a graph.
inline constexpr std::uint64_t most_nodes = 0xfffffffd;

/// Replaces ids in `links` by nodes. Throws invalid_input, about `input`, where there are more than most_nodes, and
/// out_of_memory.
/// Takes beside: two bits for each integer from the least id to the largest, where these are no more than the links' own
/// bytes; otherwise up to 24 bytes a link; for names and integers beyond 32 bits, 36 bytes for each that a
/// thread met.
node_names number_nodes(cpu_place& place, std::span<link> links, const ids_read& ids, std::string_view input);

}  // namespace quern::io
