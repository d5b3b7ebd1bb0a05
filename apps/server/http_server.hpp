// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 on a TCP port: accepts connections, reads requests within limits of bytes and time, has them answered, and
// closes. One thread holds all connections, so their state needs no locks; requests whose answer is work go to a pool.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/http.hpp"

namespace quern::server {

/// What a client may take. Whoever takes more is answered so, or closed where it would not listen.
struct http_limits {
    std::size_t connections = 1024;      ///< open at once; one more is told to come back (503)
    std::size_t header_bytes = 8 << 10;  ///< of the request line and the header together (414, 431)
    std::size_t unread_bytes =
        256
        << 20;  ///< of answers that clients have not taken yet; a long one beyond is told to come back (503)
    std::chrono::milliseconds header_time{10'000};  ///< from a request's first byte to its header's last
    std::chrono::milliseconds idle_time{60'000};    ///< between requests
    std::chrono::milliseconds write_time{30'000};   ///< for one answer to be taken
    std::chrono::milliseconds queue_time{
        5'000};  ///< waiting for a thread; who waited longer is told so (503)
    std::chrono::milliseconds answer_time{
        10'000};  ///< from a request's last byte to its answer; what takes longer is stopped (503)
    std::chrono::milliseconds drain_time{
        1'000};  ///< after the stop flag, for answers under way; what has not begun is refused (503)
};

struct http_address {
    std::string host = "127.0.0.1";  ///< a name or an address
    std::uint16_t port = 0;          ///< 0: one that is free
    /// The names by which clients may call the server. Bound to this machine alone ("loopback") it answers to this
    /// machine's own names and to these: else any page on the web could have its own name lead here, and read what
    /// is meant for this machine ("DNS rebinding"). Bound wider it answers to any name, or, where some are given,
    /// to its address and these.
    std::vector<std::string> names;
};

/// Counts that the site shows; written by the thread of the connections, read by any.
struct http_counts {
    std::atomic<std::uint64_t> accepted{0}, refused{0}, timed_out{0}, open{0}, in_flight{0};
    std::atomic<std::uint64_t> left{0};    ///< clients who left before their answer
    std::atomic<std::uint64_t> unread{0};  ///< bytes of answers that are being sent
};

class http_server {
  public:
    struct state;  ///< defined in the one file that sees the network's library
    /// Binds and listens. Throws usage_error for a host that is none, io_error where the port is taken or not allowed.
    /// `counts` and `service` must outlive the server.
    http_server(const http_address& address, const http_limits& limits, http_service& service,
                http_counts& counts);
    ~http_server();
    http_server(const http_server&) = delete;  // connections point to it
    http_server& operator=(const http_server&) = delete;

    std::string url() const;  ///< "http://127.0.0.1:7700/"
    /// Serves with `threads` beside this one until `stop` is not zero; then takes no more connections, gives the
    /// answers that are under way within the time allowed, and returns.
    void run(unsigned threads, const std::atomic<int>& stop);

  private:
    std::unique_ptr<state> state_;
};

}  // namespace quern::server
