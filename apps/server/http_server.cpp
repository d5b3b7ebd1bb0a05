// SPDX-License-Identifier: Apache-2.0
// The only file that includes Boost.Asio and Boost.Beast.
#include "server/http_server.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cctype>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <vector>

#include "quern/base/error.hpp"
#include "server/authority.hpp"
#include "server/reserve.hpp"

namespace quern::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

constexpr std::size_t refused_at_once =
    64;  // connections beyond the limit that get a response before they are closed
constexpr std::size_t short_response = 64 << 10;
constexpr std::size_t linger_bytes = 1 << 20;  // read and discarded before a connection is closed
constexpr std::chrono::milliseconds linger_time{1000};
constexpr std::chrono::milliseconds pause_without_files{100};
constexpr std::chrono::milliseconds pause_of_watch{50};
// For refusing stopped requests at the end. Together with drain_time it is well below the second and a half
// after which the program is ended by force (apps/cli/signals.cpp).
constexpr std::chrono::milliseconds last_drain_time{200};
// If a response takes longer than this: is the client still connected?
constexpr std::chrono::milliseconds alone_time{50};

/// Boost's string views, whose type differs between versions.
template <typename View>
std::string_view as_view(const View& text) {
    return {text.data(), text.size()};
}

/// RFC 9110, section 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string date_now() {
    constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::time_t now = std::time(nullptr);
    std::tm t{};
    gmtime_r(&now, &t);
    return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days.at(static_cast<std::size_t>(t.tm_wday)),
                       t.tm_mday, months.at(static_cast<std::size_t>(t.tm_mon)), 1900 + t.tm_year, t.tm_hour,
                       t.tm_min, t.tm_sec);
}

/// Returns the authority of "http://other.name:80/path", the form that a proxy sends, and removes it from the
/// target.
std::optional<std::string> take_authority(std::string& target) {
    constexpr std::string_view scheme = "http://";
    const auto same = [](char wanted, unsigned char given) { return wanted == std::tolower(given); };
    if (target.size() < scheme.size() || !std::equal(scheme.begin(), scheme.end(), target.begin(), same))
        return {};
    const std::size_t end = std::min(target.find_first_of("/?", scheme.size()), target.size());
    std::string authority = target.substr(scheme.size(), end - scheme.size());
    target.erase(0, end);
    if (!target.starts_with('/')) target.insert(0, "/");
    return authority;
}

/// Whether a request line ends in an unsupported version; otherwise the line itself is malformed.
bool of_other_version(std::string_view held) {
    const std::string_view line = held.substr(0, held.find("\r\n"));
    const std::string_view version = line.substr(line.rfind(' ') + 1);
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) && version[6] == '.' &&
           digit(version[7]) && version != "HTTP/1.0" && version != "HTTP/1.1";
}

/// Status and reason of the response to a malformed request. 0: no response, the client has disconnected.
std::pair<unsigned, std::string_view> response_to_fault(const error_code& fault, std::string_view held,
                                                        bool whole_first_line) {
    if (fault == http::error::header_limit || fault == http::error::buffer_overflow) {
        return whole_first_line ? std::pair{431U, std::string_view("the header is too long")}
                                : std::pair{414U, std::string_view("the request line is too long")};
    }
    if (fault == http::error::body_limit) return {413, "the request body is too long"};
    if (fault == http::error::bad_version && of_other_version(held))
        return {505, "unsupported HTTP version (expected HTTP/1.1)"};
    if (fault.category() != error_code(http::error::bad_target).category()) return {0, {}};
    if (fault == http::error::end_of_stream || fault == http::error::partial_message) return {0, {}};
    return {400, "malformed HTTP/1.1 request"};
}

/// Status and reason for refusing a request's Transfer-Encoding; 0: it has none or the supported one. If a
/// proxy and this server disagree on the length of a body, a body for one is a request for the other (RFC 9112,
/// sections 6.1, 6.3 and 11.2).
std::pair<unsigned, std::string_view> coding_refused(const http::request_header<>& header) {
    const auto codings = header.equal_range(http::field::transfer_encoding);
    const auto count = std::distance(codings.first, codings.second);
    if (count == 0) return {0, {}};
    if (count > 1 || header.version() < 11 || header.count(http::field::content_length) != 0)
        return {400, "the length of the request body is ambiguous"};
    if (!beast::iequals(codings.first->value(), "chunked"))
        return {501, "unsupported Transfer-Encoding (expected chunked)"};
    return {0, {}};
}

class connection;
struct pending_request;

/// A finished response for the thread of the connections; asio uses the allocator.
struct delivery {
    using allocator_type = reserve_allocator<char>;
    allocator_type get_allocator() const noexcept;
    void operator()();

    std::shared_ptr<pending_request> finished;
    std::shared_ptr<connection> client;
};

}  // namespace

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

namespace {

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
    connection(http_server::state& server, tcp::socket socket)
        : server_(server),
          stream_(std::move(socket)),
          patience_(server.io),
          buffer_(2 * server.limits.header_bytes) {
        server_.connections.insert(this);
        server_.counts.open = server_.connections.size();
    }
    ~connection() {
        let_go();
        release_body();
        server_.connections.erase(this);
        server_.counts.open = server_.connections.size();
    }
    connection(const connection&) = delete;  // the server points to it
    connection& operator=(const connection&) = delete;

    /// Waits for the next request, which may already be in the buffer.
    void wait() {
        if (server_.drained_by) return stream_.close();
        // Needed for a refusal, which may come before the request is read.
        busy_ = head_ = false;
        version_ = 11;
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(server_.limits.header_bytes));
        parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // decided when the address is known
        if (buffer_.size() != 0) return read_header();
        buffer_.shrink_to_fit();  // while the connection is idle
        stream_.expires_after(server_.limits.idle_time);
        stream_.async_read_some(buffer_.prepare(std::min<std::size_t>(4096, buffer_.max_size())),
                                [self = shared_from_this()](error_code fault, std::size_t bytes) {
                                    if (fault) return self->close();
                                    self->buffer_.commit(bytes);
                                    self->read_header();
                                });
    }

    void refuse(unsigned status, std::string_view detail) {
        waiting_since_ = clock::now();
        keep_ = false;
        respond(server_.service.refusal(status, detail));
    }

    /// The server is ending: closes the connection if it has no request, and refuses a request that has not
    /// started. `now`: also stops a request in progress and a client that has not read its response yet.
    void drain(bool now) {
        if (!busy_ || body_parser_) return stream_.close();  // idle, or its body is still on the way
        if (pending_) {
            if (now || !pending_->taken) give_up("the server is shutting down");
        } else if (now && responded_ <= *server_.drained_by) {
            stream_.close();
        }
    }

    void on_response(http_response response) {
        const std::string_view reason = pending_->reason;
        end_waiting();
        if (gone_) return close();
        if (response.status == 503 && !reason.empty()) return refuse_once(reason);
        respond(std::move(response));
    }

  private:
    /// The time limit of a header starts with its first byte and is not extended by later bytes: a client
    /// cannot hold a connection by sending one byte a minute.
    void read_header() {
        // Skip an empty line before a request: RFC 9112, section 2.2.
        if (held().starts_with("\r\n")) buffer_.consume(2);
        stream_.expires_after(server_.limits.header_time);
        header_read_ = 0;
        read_on();
    }

    /// Reads a piece of the header at a time. The parser's own limit applies only to the incomplete line that
    /// it holds; this one counts all lines.
    void read_on() {
        http::async_read_some(
            stream_, buffer_, *parser_, [self = shared_from_this()](error_code fault, std::size_t bytes) {
                if (fault) return self->on_fault(fault);
                self->header_read_ += bytes;
                const bool whole = self->parser_->is_header_done();
                const std::size_t seen = self->header_read_ + (whole ? 0 : self->buffer_.size());
                if (seen > self->server_.limits.header_bytes)
                    return self->on_fault(http::error::header_limit);
                const auto& fields = self->parser_->get();
                if (static_cast<std::size_t>(std::distance(fields.begin(), fields.end())) >
                    self->server_.limits.header_fields)
                    return self->refuse(431, "the header has too many fields");
                if (!whole) return self->read_on();
                self->take_request();
            });
    }

    std::string_view held() const {
        return {static_cast<const char*>(buffer_.data().data()), buffer_.size()};
    }

    void on_fault(const error_code& fault) {
        if (fault == beast::error::timeout) ++server_.counts.timed_out;
        const bool whole_first_line =
            !parser_->get().target().empty() || held().find('\n') != std::string_view::npos;
        const auto [status, detail] = response_to_fault(fault, held(), whole_first_line);
        if (status == 0) return close();
        head_ = parser_->get().method() == http::verb::head || held().starts_with("HEAD ");
        refuse(status, detail);
    }

    void take_request() {
        busy_ = true;
        waiting_since_ = clock::now();
        const auto& header = parser_->get();
        const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) != 0;
        version_ = header.version();
        head_ = header.method() == http::verb::head;
        keep_ = header.keep_alive() && !has_body;

        http_request request{std::string(as_view(header.target())),
                             std::string(as_view(header[http::field::if_none_match]))};
        const auto hosts = header.equal_range(http::field::host);
        const auto host_count = std::distance(hosts.first, hosts.second);
        const auto authority = take_authority(request.target);
        if (host_count > 1 || (host_count == 0 && version_ >= 11))
            return refuse(400, "missing or repeated Host header (expected exactly one)");
        const std::string host = authority ? *authority : std::string(as_view(header[http::field::host]));
        if (!is_authority(as_view(header[http::field::host])) ||
            (authority && (authority->empty() || !is_authority(*authority))))
            return refuse(400, "invalid Host header");
        if (!(host.empty() && version_ < 11) && !server_.names.know(host)) {
            return refuse(421, "the name in the Host header is not accepted; add it with --name");
        }
        if (const auto [status, detail] = coding_refused(header); status != 0) return refuse(status, detail);
        request.is_post = header.method() == http::verb::post;
        const std::size_t max_body = request.is_post ? server_.service.max_body_bytes(request) : 0;
        if (max_body != 0) return take_body(std::move(request), max_body);
        if (has_body) return refuse(413, "a request body is not supported");
        if (header.method() != http::verb::get && !head_) {
            target_ = std::move(request.target);
            return respond(server_.service.refusal(405, "unsupported method (expected GET or HEAD)"));
        }
        if (!request.target.starts_with('/'))
            return refuse(400, "invalid request target (expected a leading /)");
        target_ = request.target;
        hand_over(std::move(request));
    }

    /// Whether a browser says that the request comes from a page of another site. If the server was
    /// not told its names, only a page with the address of the request is of this site.
    bool is_from_other_site() const {
        const auto& header = parser_->get();
        const auto origins = header.equal_range(http::field::origin);
        if (origins.first == origins.second) return false;
        if (std::next(origins.first) != origins.second) return true;
        const std::string_view origin = as_view(origins.first->value());
        const std::size_t authority = origin.find("://");
        if (authority == std::string_view::npos) return true;  // null
        const std::string_view name = origin.substr(authority + 3);
        return !is_authority(name) || !(host_of(name) == host_of(as_view(header[http::field::host])) ||
                                        (!server_.names.are_all() && server_.names.know(name)));
    }

    /// Reads the body of a POST, whose header is read.
    void take_body(http_request request, std::size_t max) {
        const auto& header = parser_->get();
        request.content_type = as_view(header[http::field::content_type]);
        request.mcp_version = as_view(header["MCP-Protocol-Version"]);
        request.from_other_site = is_from_other_site();
        target_ = request.target;
        const bool waits = beast::iequals(header[http::field::expect], "100-continue");
        const std::uint64_t length = parser_->content_length().value_or(parser_->chunked() ? max : 0);
        if (length > max) return refuse(413, fmt::format("the request body is longer than {} bytes", max));
        const std::uint64_t others = server_.counts.bodies;
        if (others != 0 && others + length > server_.limits.body_bytes)
            return refuse(503, "too many request bodies at once; try again later");
        body_bytes_ = length;
        server_.counts.bodies += body_bytes_;
        keep_ = header.keep_alive();
        body_parser_.emplace(std::move(*parser_));
        parser_.reset();
        body_parser_->body_limit(max);
        stream_.expires_after(server_.limits.body_time);
        if (body_parser_->is_done()) {  // no body
            body_parser_.reset();
            return hand_over(std::move(request));
        }
        if (!waits || version_ < 11) return read_body(std::move(request));
        static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        asio::async_write(
            stream_, asio::buffer(go_on),
            [self = shared_from_this(), request = std::move(request)](error_code fault, std::size_t) mutable {
                if (fault) return self->close();
                self->read_body(std::move(request));
            });
    }
    void read_body(http_request request) {
        http::async_read(
            stream_, buffer_, *body_parser_,
            [self = shared_from_this(), request = std::move(request)](error_code fault, std::size_t) mutable {
                if (fault) return self->on_body_fault(fault);
                request.body = std::move(self->body_parser_->get().body());
                self->body_parser_.reset();
                self->waiting_since_ = clock::now();
                self->hand_over(std::move(request));
            });
    }
    void on_body_fault(const error_code& fault) {
        if (fault == beast::error::timeout) ++server_.counts.timed_out;
        const auto [status, detail] = response_to_fault(fault, {}, true);
        if (status == 0) return close();
        refuse(status, detail);
    }
    /// The body of the request is no longer held.
    void release_body() {
        body_parser_.reset();
        server_.counts.bodies -= body_bytes_;
        body_bytes_ = 0;
    }

    void hand_over(http_request request) {
        parser_.reset();  // release the header while the request is processed
        if (server_.service.is_ready(request)) {
            const std::atomic<int> never{0};
            return respond(server_.service.handle(request, never));
        }
        ++server_.counts.in_flight;
        pending_ = std::make_shared<pending_request>();
        pending_->request = std::move(request);
        be_patient();
        asio::post(*server_.pool, [self = shared_from_this(), pending_request = pending_]() mutable {
            if (pending_request->taken.exchange(true)) return;
            auto& server = self->server_;
            pending_request->response.status = 503;
            try {
                pending_request->response =
                    server.service.handle(pending_request->request, pending_request->stop);
            } catch (...) {
                // Out of memory even for a refusal. An exception in the pool would end the process.
            }
            asio::post(server.io, delivery{std::move(pending_request), std::move(self)});
        });
    }

    void end_waiting() {
        --server_.counts.in_flight;
        pending_.reset();
        patience_.cancel();
        error_code ignored;
        if (watching_) stream_.socket().cancel(ignored);
        watching_ = false;
    }

    /// The response is no longer needed. Refuses the request if no thread has started it; otherwise signals its
    /// thread.
    void give_up(std::string_view reason) {
        if (pending_->reason.empty()) pending_->reason = reason;
        pending_->stop = 1;
        if (pending_->taken.exchange(true)) return;
        end_waiting();
        if (gone_) return close();
        refuse_once(reason);
    }

    /// Refuses this request only: the connection may continue.
    void refuse_once(std::string_view detail) { respond(server_.service.refusal(503, detail)); }

    /// Watches a request until it is answered: whether the client is still connected and how long it has
    /// waited.
    void be_patient() {
        const auto waited = clock::now() - waiting_since_;
        const auto& limits = server_.limits;
        if (waited >= limits.response_time)
            return give_up("the request exceeded the time limit of this server");
        if (waited >= limits.queue_time && !pending_->taken)
            return give_up("the server is busy; try again later");
        if (waited >= alone_time && !watching_) watch_client();
        clock::duration next = limits.response_time;
        for (const clock::duration limit : {clock::duration(alone_time), clock::duration(limits.queue_time)})
            if (limit > waited) next = std::min(next, limit);
        patience_.expires_at(waiting_since_ + next);
        patience_.async_wait([self = shared_from_this(), pending_request = pending_](error_code stopped) {
            if (!stopped && self->pending_ == pending_request) self->be_patient();
        });
    }

    /// Detects a disconnected client by reading: the end of its stream, or an error.
    void watch_client() {
        watching_ = true;
        stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this(),
                                                             pending_request = pending_](error_code fault) {
            if (self->pending_ != pending_request || fault == asio::error::operation_aborted) return;
            self->look_at_client();
        });
    }
    void look_at_client() {
        error_code fault;
        char next = 0;
        stream_.socket().non_blocking(true, fault);
        if (!fault) stream_.socket().receive(asio::buffer(&next, 1), tcp::socket::message_peek, fault);
        if (fault == asio::error::eof && version_ >= 11) {
            // It sends no more: it has disconnected or waits for its response. An interim response (RFC 9110,
            // section 15.2) shows which: a disconnected client resets the connection.
            constexpr std::string_view processing = "HTTP/1.1 102 Processing\r\n\r\n";
            fault.clear();
            if (stream_.socket().send(asio::buffer(processing), 0, fault) != processing.size())
                return client_left();
        } else if (fault && fault != asio::error::eof && fault != asio::error::would_block) {
            return client_left();
        }
        stream_.socket().async_wait(tcp::socket::wait_error, [self = shared_from_this(),
                                                              pending_request = pending_](error_code failed) {
            if (self->pending_ == pending_request && failed != asio::error::operation_aborted)
                self->client_left();
        });
    }
    void client_left() {
        gone_ = true;
        ++server_.counts.left;
        give_up("the client has disconnected");
    }

    /// Limits the memory of responses that clients have not read. Short responses always pass: there is at most
    /// one per connection.
    bool finds_capacity(const http_response& response) const {
        const std::size_t bytes = response.body.size(), before = server_.counts.unread;
        return head_ || bytes <= short_response || before == 0 ||
               before + bytes <= server_.limits.unread_bytes;
    }
    void let_go() {
        serializer_.reset();
        message_.reset();
        server_.counts.unread -= held_bytes_;
        held_bytes_ = 0;
    }

    void respond(http_response response) {
        parser_.reset();
        release_body();
        if (!finds_capacity(response))
            response = server_.service.refusal(
                503, "too many responses are waiting for clients to read them; try again later");
        busy_ = true;
        responded_ = clock::now();
        keep_ = keep_ && !server_.drained_by;
        server_.service.note(
            {target_, response.status, responded_ - waiting_since_, head_ ? 0 : response.body.size()});
        target_.clear();
        message_.emplace(static_cast<http::status>(response.status), version_);
        message_->set(http::field::date, date_now());
        if (!response.content_type.empty()) message_->set(http::field::content_type, response.content_type);
        for (const auto& [name, value] : response.headers) message_->set(name, value);
        if (response.status != 304) message_->content_length(response.body.size());
        message_->keep_alive(keep_);
        if (!head_ && response.status != 304) message_->body() = std::move(response.body);
        held_bytes_ = message_->body().size();
        server_.counts.unread += held_bytes_;
        serializer_.emplace(*message_);
        stream_.expires_after(server_.limits.write_time);
        auto written = [self = shared_from_this()](error_code fault, std::size_t) {
            self->let_go();
            if (fault) return self->close();
            if (self->keep_) return self->wait();
            self->linger();
        };
        if (head_ || response.status == 304) {
            http::async_write_header(stream_, *serializer_, std::move(written));
        } else {
            http::async_write(stream_, *serializer_, std::move(written));
        }
    }

    /// Closes the sending half and waits briefly for the client to close: closing with unread bytes would reset
    /// the connection and could lose the response.
    void linger() {
        error_code ignored;
        stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        stream_.expires_after(linger_time);
        discard(linger_bytes);
    }
    void discard(std::size_t max) {
        stream_.async_read_some(asio::buffer(discarded_),
                                [self = shared_from_this(), max](error_code fault, std::size_t bytes) {
                                    if (fault || bytes >= max || self->server_.drained_by)
                                        return self->close();
                                    self->discard(max - bytes);
                                });
    }
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

delivery::allocator_type delivery::get_allocator() const noexcept {
    return allocator_type(finished->way_back);
}

void delivery::operator()() {
    client->on_response(std::move(finished->response));
}

/// The IPv4 address of an IPv4-mapped IPv6 address (::ffff:127.0.0.1).
std::optional<asio::ip::address_v4> mapped_v4(const asio::ip::address& address) {
    if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return {};
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

}  // namespace

void http_server::state::listen(const http_address& address) {
    tcp::resolver resolver(io);
    error_code fault;
    const auto found = resolver.resolve(address.host, std::to_string(address.port),
                                        tcp::resolver::passive | tcp::resolver::numeric_service, fault);
    if (fault || found.empty())
        throw usage_error(fmt::format("invalid host '{}' (expected a name or an address)", address.host));
    const tcp::endpoint endpoint = *found.begin();
    const auto check = [&](std::string_view what) {
        if (fault) throw io_error(fmt::format("{}:{}", address.host, address.port), what, fault.value());
    };
    acceptor.open(endpoint.protocol(), fault);
    check("cannot open a socket");
    acceptor.set_option(tcp::acceptor::reuse_address(true), fault);
    acceptor.bind(endpoint, fault);
    check("cannot listen");
    acceptor.listen(tcp::acceptor::max_listen_connections, fault);
    check("cannot listen");
    std::vector<std::string> given = address.names;
    const auto mapped = mapped_v4(endpoint.address());
    if (!(mapped ? mapped->is_loopback() : endpoint.address().is_loopback()) && given.empty()) return;
    given.push_back(address.host);
    given.push_back(endpoint.address().to_string());
    if (mapped) {  // also in the notation of browsers
        given.push_back(mapped->to_string());
        given.push_back(fmt::format("::ffff:{:x}:{:x}", mapped->to_uint() >> 16, mapped->to_uint() & 0xFFFF));
    }
    names = known_names(given);
}

void http_server::state::accept() {
    acceptor.async_accept(io, [this](error_code fault, tcp::socket socket) {
        if (!acceptor.is_open()) return;
        if (!fault) {
            accept();  // first: the rest may throw, and the next client must not wait for ever
            return take(std::move(socket));
        }
        // Out of file descriptors or memory; the waiting client is not lost.
        pause.expires_after(pause_without_files);
        pause.async_wait([this](error_code stopped) {
            if (!stopped) accept();
        });
    });
}

void http_server::state::take(tcp::socket socket) {
    ++counts.accepted;
    const std::size_t before = connections.size();
    if (before >= limits.connections) ++counts.refused;
    if (before >= limits.connections + refused_at_once) return;  // closes the socket
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const auto client = std::make_shared<connection>(*this, std::move(socket));
    if (before >= limits.connections) {
        client->refuse(503, "too many connections; try again later");
    } else {
        client->wait();
    }
}

void http_server::state::watch_for(const std::atomic<int>& stop) {
    watch.expires_after(pause_of_watch);
    watch.async_wait([this, &stop](error_code) {
        watch_for(stop);  // first: the rest may throw, and the stop flag must not be missed
        if (!drained_by && stop.load() != 0) drain();
        give_memory_back();
        if (drained_by && (connections.empty() || clock::now() >= *drained_by + last_drain_time))
            return io.stop();
        if (drained_by && clock::now() >= *drained_by) end_responses(true);
    });
}

/// Returns the memory of closed connections to the system: small blocks that the heap would keep.
void http_server::state::give_memory_back() {
    constexpr std::size_t many = 64, share = 4;
    max_connections = std::max(max_connections, connections.size());
    if (max_connections < many || connections.size() > max_connections / share) return;
    max_connections = connections.size();
    malloc_trim(0);
}

void http_server::state::drain() {
    drained_by = clock::now() + limits.drain_time;
    error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
    end_responses(false);
}

void http_server::state::end_responses(bool now) {
    // A connection without a pending request ends and removes itself from the list.
    for (const auto& client : std::vector(connections.begin(), connections.end())) {
        try {
            client->drain(now);
        } catch (const std::bad_alloc&) {  // this one ends without a refusal; the others still get theirs
        }
    }
}

namespace {

/// Our own threads for the pool. If asio cannot start one of its own threads, it waits for the others for ever.
class pool_threads {
  public:
    /// If the system grants fewer threads, uses those; if it grants none, throws std::system_error.
    pool_threads(asio::thread_pool& pool, unsigned count) : pool_(pool) {
        threads_.reserve(count);
        try {
            while (threads_.size() < count) threads_.emplace_back([&pool] { pool.attach(); });
        } catch (const std::system_error&) {
            if (threads_.empty()) throw;
        }
    }
    pool_threads(const pool_threads&) = delete;  // a single owner ends them
    pool_threads& operator=(const pool_threads&) = delete;
    ~pool_threads() { pool_.stop(); }

  private:
    asio::thread_pool& pool_;
    std::vector<std::jthread> threads_;  // joined after the stop
};

}  // namespace

http_server::http_server(const http_address& address, const http_limits& limits, http_service& service,
                         http_counts& counts)
    : state_(std::make_unique<state>(limits, service, counts)) {
    state_->listen(address);
}
http_server::~http_server() = default;

std::string http_server::url() const {
    const tcp::endpoint at = state_->acceptor.local_endpoint();
    const bool brackets = at.address().is_v6();
    return fmt::format("http://{}{}{}:{}/", brackets ? "[" : "", at.address().to_string(),
                       brackets ? "]" : "", at.port());
}

void http_server::run(unsigned threads, const std::atomic<int>& stop) {
    state_->pool.emplace(0);
    {
        const pool_threads workers(*state_->pool, threads);
        state_->accept();
        state_->watch_for(stop);
        while (!state_->io.stopped()) {
            try {
                state_->io.run();
            } catch (const std::bad_alloc&) {  // the connection that needed it is closed; the others continue
            }
        }
    }
    state_->pool.reset();  // requests that never started own connections, which must end before io
}

}  // namespace quern::server
