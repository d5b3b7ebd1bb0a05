// SPDX-License-Identifier: Apache-2.0
// Requests and responses as plain values, and what answers them: what stands between the connections
// (http_server.hpp), which know no store, and the site (site.hpp), which knows no network.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::server {

/// A GET or a HEAD: the answers are the same, and a HEAD's body stays at home.
struct http_request {
    std::string target;         ///< path and query as sent: nothing decoded, a path that begins with /
    std::string if_none_match;  ///< the header of this name, or nothing
};

struct http_response {
    unsigned status = 200;
    std::string content_type;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};
};

/// An answered request, for those who count.
struct http_exchange {
    std::string_view target;  ///< empty: what came was no request
    unsigned status = 0;
    std::chrono::nanoseconds
        taken{};  ///< from the request's last byte to the answer, waiting for a thread included
    std::size_t body_bytes = 0;
};

class http_service {
  public:
    virtual ~http_service() = default;
    /// Whether an answer is at hand: the thread that holds the connections gives it, so that it comes however busy the
    /// others are.
    virtual bool at_hand(const http_request& request) const = 0;
    /// Never throws for what a request holds. Called by several threads at once. Ends soon, with any answer of status 503,
    /// where `stop` becomes other than zero: nobody waits for it any more.
    virtual http_response answer(const http_request& request, const std::atomic<int>& stop) = 0;
    /// An answer that the connections give themselves: to what is no request, or to one too many.
    virtual http_response refusal(unsigned status, std::string_view detail) = 0;
    /// Called by the thread that holds the connections.
    virtual void note(const http_exchange& exchange) = 0;
};

}  // namespace quern::server
