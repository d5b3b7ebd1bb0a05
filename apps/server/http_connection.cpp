// SPDX-License-Identifier: Apache-2.0
#include "server/http_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "server/http_syntax.hpp"

namespace quern::server {
namespace {

/// A finished response for the thread of the connections; asio uses the allocator.
struct delivery {
    using allocator_type = reserve_allocator<char>;
    allocator_type get_allocator() const noexcept;
    void operator()();

    std::shared_ptr<pending_request> finished;
    std::shared_ptr<connection> client;
};

delivery::allocator_type delivery::get_allocator() const noexcept {
    return allocator_type(finished->way_back);
}

void delivery::operator()() {
    client->on_response(std::move(finished->response));
}

}  // namespace

connection::connection(http_server::state& server, tcp::socket socket)
    : server_(server),
      stream_(std::move(socket)),
      patience_(server.io),
      buffer_(2 * server.limits.header_bytes) {
    server_.connections.insert(this);
    server_.counts.open = server_.connections.size();
}

connection::~connection() {
    let_go();
    release_body();
    server_.connections.erase(this);
    server_.counts.open = server_.connections.size();
}

void connection::wait() {
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

void connection::refuse(unsigned status, std::string_view detail) {
    waiting_since_ = clock::now();
    keep_ = false;
    respond(server_.service.refusal(status, detail));
}

void connection::drain(bool now) {
    if (!busy_ || body_parser_) return stream_.close();  // idle, or its body is still on the way
    if (pending_) {
        if (now || !pending_->taken) give_up("the server is shutting down");
    } else if (now && responded_ <= *server_.drained_by) {
        stream_.close();
    }
}

void connection::on_response(http_response response) {
    const std::string_view reason = pending_->reason;
    end_waiting();
    if (gone_) return close();
    if (response.status == 503 && !reason.empty()) return refuse_once(reason);
    respond(std::move(response));
}

void connection::read_header() {
    // Skip an empty line before a request: RFC 9112, section 2.2.
    if (held().starts_with("\r\n")) buffer_.consume(2);
    stream_.expires_after(server_.limits.header_time);
    header_read_ = 0;
    read_on();
}

void connection::read_on() {
    http::async_read_some(
        stream_, buffer_, *parser_, [self = shared_from_this()](error_code fault, std::size_t bytes) {
            if (fault) return self->on_fault(fault);
            self->header_read_ += bytes;
            const bool whole = self->parser_->is_header_done();
            const std::size_t seen = self->header_read_ + (whole ? 0 : self->buffer_.size());
            if (seen > self->server_.limits.header_bytes) return self->on_fault(http::error::header_limit);
            const auto& fields = self->parser_->get();
            if (static_cast<std::size_t>(std::distance(fields.begin(), fields.end())) >
                self->server_.limits.header_fields)
                return self->refuse(431, "the header has too many fields");
            if (!whole) return self->read_on();
            self->take_request();
        });
}

std::string_view connection::held() const {
    return {static_cast<const char*>(buffer_.data().data()), buffer_.size()};
}

void connection::on_fault(const error_code& fault) {
    if (fault == beast::error::timeout) ++server_.counts.timed_out;
    const bool whole_first_line =
        !parser_->get().target().empty() || held().find('\n') != std::string_view::npos;
    const auto [status, detail] = response_to_fault(fault, held(), whole_first_line);
    if (status == 0) return close();
    head_ = parser_->get().method() == http::verb::head || held().starts_with("HEAD ");
    refuse(status, detail);
}

void connection::take_request() {
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
    const bool is_read = header.method() == http::verb::get || head_;
    if (has_body && (is_read || request.is_post)) return refuse(413, "a request body is not supported");
    if (!is_read) {
        target_ = request.target;
        return respond(server_.service.refusal_of_method(request));
    }
    if (!request.target.starts_with('/')) return refuse(400, "invalid request target (expected a leading /)");
    target_ = request.target;
    hand_over(std::move(request));
}

bool connection::is_from_other_site() const {
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

void connection::take_body(http_request request, std::size_t max) {
    const auto& header = parser_->get();
    request.content_type = as_view(header[http::field::content_type]);
    if (const auto version = header.find("MCP-Protocol-Version"); version != header.end())
        request.mcp_version = as_view(version->value());
    request.from_other_site = is_from_other_site();
    target_ = request.target;
    if (const auto coding = header[http::field::content_encoding];
        !coding.empty() && !beast::iequals(coding, "identity"))
        return refuse(415, "unsupported Content-Encoding (expected a body that is not compressed)");
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

void connection::read_body(http_request request) {
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

void connection::on_body_fault(const error_code& fault) {
    if (fault == beast::error::timeout) ++server_.counts.timed_out;
    const auto [status, detail] = response_to_fault(fault, {}, true);
    if (status == 0) return close();
    refuse(status, detail);
}

void connection::release_body() {
    body_parser_.reset();
    server_.counts.bodies -= body_bytes_;
    body_bytes_ = 0;
}

void connection::hand_over(http_request request) {
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

}  // namespace quern::server
