// SPDX-License-Identifier: Apache-2.0
// Graphs from arrays of ids, numbered as those of files are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "io/graph/named_graph.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Link i goes from `from[i]` to `to[i]`; both have the same size. The graph has no weights. Names are integers if all are
/// written as a program writes one: digits without leading zeros, below 2^64. Throws invalid_input for too many nodes or
/// an empty name, out_of_memory, interrupted.
named_graph graph_of_ids(std::span<const std::uint32_t> from, std::span<const std::uint32_t> to,
                         const context& ctx);
named_graph graph_of_ids(std::span<const std::uint64_t> from, std::span<const std::uint64_t> to,
                         const context& ctx);
named_graph graph_of_ids(std::span<const std::string_view> from, std::span<const std::string_view> to,
                         const context& ctx);

}  // namespace quern::io
