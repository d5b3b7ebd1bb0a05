// SPDX-License-Identifier: Apache-2.0
// One client of the server, and what the server shares with its clients: what the files of the connections know, and no
// others.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_set>

#include "server/authority.hpp"
#include "server/http_server.hpp"
#include "server/reserve.hpp"

namespace quern::server {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

class connection;

/// Only the thread of run() uses it, except for the pool.
struct http_server::state {
    state(const http_limits& l, http_service& s, http_counts& c) : limits(l), service(s), counts(c) {}

    void listen(const http_address& address);
    void accept();
    void take(tcp::socket socket);
    void watch_for(const std::atomic<int>& stop);
    void give_memory_back();
    void drain();
    void end_responses(bool now);

    const http_limits limits;
    http_service& service;
    http_counts& counts;
    known_names names;
    std::unordered_set<connection*> connections;  // outlives io, whose destruction ends them
    std::optional<asio::thread_pool> pool;
    asio::io_context io{1};
    tcp::acceptor acceptor{io};
    asio::steady_timer pause{io}, watch{io};
    std::optional<clock::time_point> drained_by;
    std::size_t max_connections = 0;  // since memory was last released
};

/// A request in progress: waiting for a thread, then processed by one.
struct pending_request {
    http_request request;
    http_response response;
    reserve way_back;
    std::atomic<bool> taken{false};
    std::atomic<int> stop{0};  // the result is no longer needed
    std::string_view reason;   // why it was stopped; used by the thread of the connections
};

/// One client. Each of its pending operations owns it, so it lives as long as one of them.
class connection : public std::enable_shared_from_this<connection> {
  public:
    connection(http_server::state& server, tcp::socket socket);
    ~connection();
    connection(const connection&) = delete;  // the server points to it
    connection& operator=(const connection&) = delete;

    /// Waits for the next request, which may already be in the buffer.
    void wait();

    void refuse(unsigned status, std::string_view detail);

    /// The server is ending: closes the connection if it has no request, and refuses a request that has not
    /// started. `now`: also stops a request in progress and a client that has not read its response yet.
    void drain(bool now);

    void on_response(http_response response);

  private:
    /// The time limit of a header starts with its first byte and is not extended by later bytes: a client
    /// cannot hold a connection by sending one byte a minute.
    void read_header();

    /// Reads a piece of the header at a time. The parser's own limit applies only to the incomplete line that
    /// it holds; this one counts all lines.
    void read_on();

    std::string_view held() const;

    void on_fault(const error_code& fault);

    void take_request();

    /// Whether a browser says that the request comes from a page of another site. If the server was
    /// not told its names, only a page with the address of the request is of this site.
    bool is_from_other_site() const;

    /// Reads the body of a POST, whose header is read.
    void take_body(http_request request, std::size_t max);
    void read_body(http_request request);
    void on_body_fault(const error_code& fault);
    /// The body of the request is no longer held.
    void release_body();

    void hand_over(http_request request);

    void end_waiting();

    /// The response is no longer needed. Refuses the request if no thread has started it; otherwise signals its
    /// thread.
    void give_up(std::string_view reason);

    /// Refuses this request only: the connection may continue.
    void refuse_once(std::string_view detail) { respond(server_.service.refusal(503, detail)); }

    /// Watches a request until it is answered: whether the client is still connected and how long it has
    /// waited.
    void be_patient();

    /// Detects a disconnected client by reading: the end of its stream, or an error.
    void watch_client();
    void look_at_client();
    void client_left();

    /// Limits the memory of responses that clients have not read. Short responses always pass: there is at most
    /// one per connection.
    bool finds_capacity(const http_response& response) const;
    void let_go();

    void respond(http_response response);

    /// Closes the sending half and waits briefly for the client to close: closing with unread bytes would reset
    /// the connection and could lose the response.
    void linger();
    void discard(std::size_t max);
    void close() { stream_.close(); }

    http_server::state& server_;
    beast::tcp_stream stream_;
    asio::steady_timer patience_;  // for the response in progress
    std::shared_ptr<pending_request> pending_;
    beast::flat_buffer buffer_;
    std::array<char, 4096> discarded_{};
    std::optional<http::request_parser<http::empty_body>> parser_;
    std::optional<http::request_parser<http::string_body>> body_parser_;
    std::optional<http::response<http::string_body>> message_;
    std::optional<http::response_serializer<http::string_body>> serializer_;
    std::size_t held_bytes_ = 0, header_read_ = 0;
    std::uint64_t body_bytes_ = 0;  // of the request, for the limit of all
    std::string target_;
    clock::time_point waiting_since_;  // start of the wait for the response
    clock::time_point responded_;      // start of sending the response
    unsigned version_ = 11;
    bool head_ = false;
    bool keep_ = true;
    bool busy_ = false;      // a response is in progress
    bool watching_ = false;  // whether the client is still connected
    bool gone_ = false;
};

}  // namespace quern::server
