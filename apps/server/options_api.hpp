// SPDX-License-Identifier: Apache-2.0
// /api/options: the options of a search, for pages that offer them.
#pragma once

#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"

namespace quern::server {

/// The parameters of /api/search with their schemas and, of some, the choices in words; of models those that rank the
/// store. Throws bad_request for parameters other than `store`.
std::string options_json(const search_engine& engine, std::string_view query);

}  // namespace quern::server
