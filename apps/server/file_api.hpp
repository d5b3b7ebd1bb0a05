// SPDX-License-Identifier: Apache-2.0
// /files/PATH: images of a folder, and its documents to keep.
#pragma once

#include <string_view>

#include "server/http.hpp"
#include "server/served_store.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

/// An image is shown, without scripts and other files; a document of the store is sent to be kept. `path`: percent-encoded.
/// Throws not_found for everything else.
http_response file_response(const served_store& store, std::string_view path, std::string_view query,
                            const site_limits& limits, const context& ctx);

}  // namespace quern::server
