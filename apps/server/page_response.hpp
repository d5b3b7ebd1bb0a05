// SPDX-License-Identifier: Apache-2.0
// The pages of web/ as responses.
#pragma once

#include <string_view>

#include "server/http.hpp"
#include "server/pages.hpp"

namespace quern::server {

/// Null: there is none at this path.
const page* find_page(std::string_view path);

/// With its tag; 304 if the client has it.
http_response page_response(const page& page, const http_request& request);

}  // namespace quern::server
