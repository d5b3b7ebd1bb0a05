// SPDX-License-Identifier: Apache-2.0
// /api/search: parameters to options of the engine, its answer to JSON.
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

/// `q`, which must be there. Throws bad_request where it is not, or is too long.
std::string_view query_of(const parameters& given, const site_limits& limits);

/// Throws bad_request for parameters that are refused, `interrupted` where the run's stop flag is raised.
std::string search_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                        const context& run);

class not_found : public error {
  public:
    using error::error;
};

/// One document, from a byte of its text on: that of `id`, which without one is a parameter. Throws not_found, and bad_request
/// for parameters that are refused.
std::string document_json(const search_engine& engine, std::optional<std::string_view> id,
                          std::string_view query, const site_limits& limits);

}  // namespace quern::server
