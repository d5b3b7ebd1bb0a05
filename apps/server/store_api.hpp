// SPDX-License-Identifier: Apache-2.0
// /api/store: what a store is and offers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/served_store.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

/// `stores`: all that the server has. Throws bad_request for invalid parameters.
std::string store_json(const served_store& store, std::span<const served_store> stores,
                       std::string_view query, const site_limits& limits);

}  // namespace quern::server
