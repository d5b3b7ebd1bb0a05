// SPDX-License-Identifier: Apache-2.0
// /api/search: turns parameters into engine options and the result into JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"
#include "quern/tasks/search.hpp"
#include "server/site.hpp"

namespace quern::server {

class parameters;

/// The required parameter `q`. Throws bad_request if it is missing or too long.
std::string_view query_of(const parameters& given, const site_limits& limits);

/// Throws bad_request for invalid parameters, `interrupted` if the stop flag is set.
std::string search_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                        const context& ctx);

class not_found : public error {
  public:
    using error::error;
};

/// One document, starting at a byte offset of its text: the one of `id`, or, without it, of the parameter id.
/// Throws not_found, and bad_request for invalid parameters.
std::string document_json(const search_engine& engine, std::optional<std::string_view> id,
                          std::string_view query, const site_limits& limits);

}  // namespace quern::server
