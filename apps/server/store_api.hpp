// SPDX-License-Identifier: Apache-2.0
// /api/store: what a store is and offers.
#pragma once

#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"
#include "server/site.hpp"

namespace quern::server {

/// `name`: of the store's folder.
std::string store_json(const search_engine& engine, std::string_view name, const site_limits& limits);

}  // namespace quern::server
