// SPDX-License-Identifier: Apache-2.0
// The tools that a store offers to agents: search, read_document, count_phrase, and, if the store has what they need,
// similar_words and like_document. None changes anything.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/count.hpp"
#include "quern/tasks/search.hpp"
#include "server/mcp.hpp"
#include "server/site.hpp"

namespace quern::server {

/// Both must outlive the tools and be of one store.
std::vector<mcp_tool> tools_of(const search_engine& engine, const ngram_counter& counter,
                               const site_limits& limits);

/// A server of these tools. `name`: of the store, for the client's model.
mcp mcp_of(const search_engine& engine, const ngram_counter& counter, std::string_view name,
           const site_limits& limits, std::function<void(const std::string&)> report);

/// Opens the counter of an engine's store. Throws usage_error if the store was replaced since the engine was opened.
ngram_counter counter_of(const search_engine& engine, const std::filesystem::path& store, const context& ctx);

}  // namespace quern::server
