// SPDX-License-Identifier: Apache-2.0
// /api/documents: one document of a store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"
#include "server/site.hpp"

namespace quern::server {

/// One document, starting at a byte offset of its text: the one of `id`, or, without it, of the parameter id.
/// Throws not_found, and bad_request for invalid parameters.
std::string document_json(const search_engine& engine, std::optional<std::string_view> id,
                          std::string_view query, const site_limits& limits);

}  // namespace quern::server
