// SPDX-License-Identifier: Apache-2.0
// /api/options: the options of a search, for pages that offer them.
#pragma once

#include <string>
#include <string_view>

namespace quern::server {

/// The parameters of /api/search with their schemas and, of some, the choices in words. Throws bad_request for parameters other than `store`.
std::string options_json(std::string_view query);

}  // namespace quern::server
