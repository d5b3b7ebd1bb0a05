// SPDX-License-Identifier: Apache-2.0
// /api/statistics: the store as a whole; /api/duplicates: the documents that have near-duplicates.
#pragma once

#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

/// Both throw bad_request for invalid parameters, `interrupted` if the stop flag is set.
std::string statistics_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                            const context& ctx);
std::string duplicates_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                            const context& ctx);

}  // namespace quern::server
