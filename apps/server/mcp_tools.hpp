// SPDX-License-Identifier: Apache-2.0
// The tools that stores offer to agents: search, read_document, count_phrase, complete, and, if a store has what they need,
// similar_words and like_document. None changes anything.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "server/mcp.hpp"
#include "server/served_store.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

/// The tools of one store, which must outlive them.
std::vector<mcp_tool> tools_of_store(const served_store& store, const site_limits& limits);

/// The stores, at least one, must outlive the tools. Of several, each tool takes the name of one.
std::vector<mcp_tool> tools_of(std::span<const served_store> stores, const site_limits& limits);

/// A server of these tools.
mcp mcp_of(std::span<const served_store> stores, const site_limits& limits,
           std::function<void(const std::string&)> report);

}  // namespace quern::server
