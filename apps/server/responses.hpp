// SPDX-License-Identifier: Apache-2.0
// Responses that all parts of the site make: JSON, problems, and what every response has.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"
#include "server/http.hpp"

namespace quern::server {

/// The store has changed since it was opened: results from it are unreliable.
class store_lost : public error {
  public:
    using error::error;
};

http_response json_response(std::string body);

/// RFC 9457.
http_response problem_response(unsigned status, std::string_view detail, std::optional<std::size_t> position);

/// Security headers of every response. Pages use only their own script and style, load nothing from other sites
/// and cannot be framed; other sites cannot embed the content or see the queries.
void add_security(http_response& response);

/// An error response. Clients see no paths and nothing about this machine.
struct failed_response {
    unsigned status = 500;
    std::string reported;
    std::string fault;                         ///< for the server's log; empty for a mistake of the client
    std::optional<std::size_t> position = {};  ///< of a mistake in a query, in characters from 0
};
/// Maps errors to statuses; nothing else does.
failed_response response_to(const std::exception_ptr& failure);

}  // namespace quern::server
