// SPDX-License-Identifier: Apache-2.0
// Requests and responses as plain values: the interface between the connections (http_server.hpp), which do not
// use the store, and the site (site.hpp), which does not use the network.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::server {

/// A GET, a HEAD (the responses are the same, but the body of a HEAD is not sent), or a POST.
struct http_request {
    std::string target;         ///< path and query as sent: not decoded; the path begins with /
    std::string if_none_match;  ///< the header of this name, or empty
    bool is_post = false;
    std::string content_type = {};                ///< of a POST: the header of this name
    std::optional<std::string> mcp_version = {};  ///< of a POST: the header MCP-Protocol-Version
    bool from_other_site =
        false;              ///< of a POST: its Origin header has a name that is not one of the server's
    std::string body = {};  ///< of a POST, complete
};

struct http_response {
    unsigned status = 200;
    std::string content_type;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};
};

/// An answered request, for the metrics.
struct http_exchange {
    std::string_view target;  ///< empty: the input was not a request
    unsigned status = 0;
    /// From the request's last byte to the response, including the wait for a thread.
    std::chrono::nanoseconds taken{};
    std::size_t body_bytes = 0;
};

class http_service {
  public:
    virtual ~http_service() = default;
    /// Whether the response is immediate. The thread of the connections then computes it, so that it arrives
    /// even if all others are busy.
    virtual bool is_ready(const http_request& request) const = 0;
    /// The maximum size of the body of a POST; 0: the address takes no POST. `request` has no body yet.
    virtual std::size_t max_body_bytes(const http_request& /*request*/) const { return 0; }
    /// Never throws because of the contents of a request. Called by several threads at once. Returns soon, with
    /// any response of status 503, once `stop` is not zero: the result is no longer needed.
    virtual http_response handle(const http_request& request, const std::atomic<int>& stop) = 0;
    /// A response that the connections send themselves: to a malformed request, or to one beyond a limit.
    virtual http_response refusal(unsigned status, std::string_view detail) = 0;
    /// A response to a method that no address takes.
    virtual http_response refusal_of_method(const http_request& /*request*/) {
        return refusal(405, "unsupported method (expected GET or HEAD)");
    }
    /// Called by the thread of the connections.
    virtual void note(const http_exchange& exchange) = 0;
};

}  // namespace quern::server
