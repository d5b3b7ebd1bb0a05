// SPDX-License-Identifier: Apache-2.0
// /api/complete: words of the store that complete what is typed.
#pragma once

#include <string>

#include "quern/tasks/search.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

class parameters;

/// `given`: of completion_parameters(). Throws bad_request for invalid parameters, `interrupted` if the stop flag is set.
std::string completion_json(const search_engine& engine, const parameters& given, const site_limits& limits,
                            const context& ctx);

}  // namespace quern::server
