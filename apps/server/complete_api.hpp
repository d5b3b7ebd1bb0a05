// SPDX-License-Identifier: Apache-2.0
// /api/complete: words of the store that complete what is typed.
#pragma once

#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"
#include "server/site.hpp"

namespace quern::server {

/// Throws bad_request for invalid parameters, `interrupted` if the stop flag is set.
std::string completion_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                            const context& ctx);

}  // namespace quern::server
