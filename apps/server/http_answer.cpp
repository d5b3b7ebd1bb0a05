// SPDX-License-Identifier: Apache-2.0
// The second half of a connection: waiting for a response while watching the client, and sending it.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <string_view>
#include <utility>

#include "server/http_connection.hpp"
#include "server/http_syntax.hpp"

namespace quern::server {
namespace {

constexpr std::size_t short_response = 64 << 10;
constexpr std::size_t linger_bytes = 1 << 20;  // read and discarded before a connection is closed
constexpr std::chrono::milliseconds linger_time{1000};
// If a response takes longer than this: is the client still connected?
constexpr std::chrono::milliseconds alone_time{50};

}  // namespace

void connection::end_waiting() {
    --server_.counts.in_flight;
    pending_.reset();
    patience_.cancel();
    error_code ignored;
    if (watching_) stream_.socket().cancel(ignored);
    watching_ = false;
}

void connection::give_up(std::string_view reason) {
    if (pending_->reason.empty()) pending_->reason = reason;
    pending_->stop = 1;
    if (pending_->taken.exchange(true)) return;
    end_waiting();
    if (gone_) return close();
    refuse_once(reason);
}

void connection::be_patient() {
    const auto waited = clock::now() - waiting_since_;
    const auto& limits = server_.limits;
    if (waited >= limits.response_time) return give_up("the request exceeded the time limit of this server");
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

void connection::watch_client() {
    watching_ = true;
    stream_.socket().async_wait(
        tcp::socket::wait_read, [self = shared_from_this(), pending_request = pending_](error_code fault) {
            if (self->pending_ != pending_request || fault == asio::error::operation_aborted) return;
            self->look_at_client();
        });
}

void connection::look_at_client() {
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
    stream_.socket().async_wait(
        tcp::socket::wait_error, [self = shared_from_this(), pending_request = pending_](error_code failed) {
            if (self->pending_ == pending_request && failed != asio::error::operation_aborted)
                self->client_left();
        });
}

void connection::client_left() {
    gone_ = true;
    ++server_.counts.left;
    give_up("the client has disconnected");
}

bool connection::finds_capacity(const http_response& response) const {
    const std::size_t bytes = response.body.size(), before = server_.counts.unread;
    return head_ || bytes <= short_response || before == 0 || before + bytes <= server_.limits.unread_bytes;
}

void connection::let_go() {
    serializer_.reset();
    message_.reset();
    server_.counts.unread -= held_bytes_;
    held_bytes_ = 0;
}

void connection::respond(http_response response) {
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

void connection::linger() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(linger_time);
    discard(linger_bytes);
}

void connection::discard(std::size_t max) {
    stream_.async_read_some(asio::buffer(discarded_),
                            [self = shared_from_this(), max](error_code fault, std::size_t bytes) {
                                if (fault || bytes >= max || self->server_.drained_by) return self->close();
                                self->discard(max - bytes);
                            });
}

}  // namespace quern::server
