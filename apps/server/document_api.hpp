// SPDX-License-Identifier: Apache-2.0
// /api/documents: one document of a store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"
#include "server/served_store.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

/// One document, starting at a byte offset of its text: the one of `id`, or, without it, of the parameter id.
/// Throws not_found, and bad_request for invalid parameters.
std::string document_json(const served_store& store, std::optional<std::string_view> id,
                          std::string_view query, const site_limits& limits, const context& ctx);

}  // namespace quern::server
