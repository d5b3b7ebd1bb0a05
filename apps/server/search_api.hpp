// SPDX-License-Identifier: Apache-2.0
// /api/search: turns parameters into engine options and the result into JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"
#include "quern/tasks/search.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

class parameters;

/// The required parameter `q`. Throws bad_request if it is missing or too long.
std::string_view query_of(const parameters& given, const site_limits& limits);

enum class search_time { written, not_written };  ///< of a search, as the member seconds

/// `given`: of search_parameters(). Throws bad_request for invalid parameters, `interrupted` if the stop flag is set.
std::string search_json(const search_engine& engine, const parameters& given, const site_limits& limits,
                        const context& ctx, search_time time = search_time::written);

class not_found : public error {
  public:
    using error::error;
};

}  // namespace quern::server
