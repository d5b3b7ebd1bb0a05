// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 on a TCP port: accepts connections, reads requests within limits of bytes and time, passes them to
// the service, and closes. One thread owns all connections, so their state needs no locks; requests that need
// work go to a thread pool.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/http.hpp"

namespace quern::server {

/// Limits per client. A client that exceeds one gets an error response, or its connection is closed if it does
/// not read.
struct http_limits {
    /// Open connections; further ones get 503 with Retry-After.
    std::size_t connections = 1024;
    /// Of the request line and the header together (414, 431).
    std::size_t header_bytes = 8 << 10;
    /// Of one request (431): each takes more memory than its bytes.
    std::size_t header_fields = 100;
    /// Of responses that clients have not read yet; beyond it, a long response is replaced by 503 with Retry-After.
    std::size_t unread_bytes = 256 << 20;
    /// From the first byte of a request to the last byte of its header.
    std::chrono::milliseconds header_time{10'000};
    /// Of requests whose bodies are being read or processed; a request for more gets 503. One always passes.
    std::size_t body_bytes = 256 << 20;
    /// From the last byte of a header to the last byte of the body.
    std::chrono::milliseconds body_time{30'000};
    /// Between requests.
    std::chrono::milliseconds idle_time{60'000};
    /// For a client to read one response.
    std::chrono::milliseconds write_time{30'000};
    /// Waiting for a thread; after that the request gets 503.
    std::chrono::milliseconds queue_time{5'000};
    /// From the last byte of a request to its response; after that the work is stopped (503).
    std::chrono::milliseconds response_time{10'000};
    /// After the stop flag, for requests in progress; those that have not started are refused (503).
    std::chrono::milliseconds drain_time{1'000};
};

struct http_address {
    std::string host = "127.0.0.1";  ///< a name or an address
    std::uint16_t port = 0;          ///< 0: any free one
    /// Names that clients may use for the server. Bound to a loopback address it accepts only the names of this
    /// machine and these: otherwise any page on the web could point its own name here and read the responses
    /// (DNS rebinding). Bound to another address it accepts any name, or, if names are given, its address and
    /// these.
    std::vector<std::string> names;
};

/// Counts shown by the site; written by the thread of the connections, read by any thread.
struct http_counts {
    std::atomic<std::uint64_t> accepted{0}, refused{0}, timed_out{0}, open{0}, in_flight{0};
    std::atomic<std::uint64_t> left{0};    ///< clients that disconnected before their response
    std::atomic<std::uint64_t> unread{0};  ///< bytes of responses being sent
    std::atomic<std::uint64_t> bodies{0};  ///< bytes of request bodies that are held
};

class http_server {
  public:
    struct state;  ///< defined in the header that includes the network library
    /// Binds and listens. Throws usage_error for an invalid host, io_error if the port is in use or not
    /// permitted. `counts` and `service` must outlive the server.
    http_server(const http_address& address, const http_limits& limits, http_service& service,
                http_counts& counts);
    ~http_server();
    http_server(const http_server&) = delete;  // connections point to it
    http_server& operator=(const http_server&) = delete;

    std::string url() const;  ///< "http://127.0.0.1:7700/"
    /// Serves with this thread and `threads` more until `stop` is not zero; then accepts no more connections,
    /// finishes the requests in progress within drain_time, and returns.
    void run(unsigned threads, const std::atomic<int>& stop);

  private:
    std::unique_ptr<state> state_;
};

}  // namespace quern::server
