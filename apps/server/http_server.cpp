// SPDX-License-Identifier: Apache-2.0
// The one file that sees Boost.Asio and Boost.Beast.
#include "server/http_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cctype>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <unordered_set>

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

constexpr std::size_t refused_at_once = 64;  // connections beyond the limit that are told so, not just closed
constexpr std::size_t short_answer = 64 << 10;
constexpr std::size_t linger_bytes = 1 << 20;  // read and thrown away before a connection is closed
constexpr std::chrono::milliseconds linger_time{1000};
constexpr std::chrono::milliseconds pause_without_files{100};
constexpr std::chrono::milliseconds pause_of_watch{50};
// For refusing what was stopped at the end. With drain_time well below the second and a half after which the program ends
// by force (apps/cli/signals.cpp).
constexpr std::chrono::milliseconds last_drain_time{200};
constexpr std::chrono::milliseconds alone_time{
    50};  // an answer that takes longer: is the client still there?

/// Boost's views of text, which are of another type in each version.
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

/// "http://other.name:80/path" (a proxy asks so) into its authority, and the target into what follows.
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

/// Whether a request line ends in a version that is none of ours; else what is wrong is the line.
bool of_other_version(std::string_view held) {
    const std::string_view line = held.substr(0, held.find("\r\n"));
    const std::string_view version = line.substr(line.rfind(' ') + 1);
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) && version[6] == '.' &&
           digit(version[7]) && version != "HTTP/1.0" && version != "HTTP/1.1";
}

/// What a fault in a request is answered with: a status and a reason. 0: nothing, the client has gone.
std::pair<unsigned, std::string_view> answer_to_fault(const error_code& fault, std::string_view held,
                                                      bool whole_first_line) {
    if (fault == http::error::header_limit || fault == http::error::buffer_overflow) {
        return whole_first_line ? std::pair{431U, std::string_view("the header is too long")}
                                : std::pair{414U, std::string_view("the request line is too long")};
    }
    if (fault == http::error::body_limit) return {413, "requests here have no body"};
    if (fault == http::error::bad_version && of_other_version(held))
        return {505, "this server speaks HTTP/1.1"};
    if (fault.category() != error_code(http::error::bad_target).category()) return {0, {}};
    if (fault == http::error::end_of_stream || fault == http::error::partial_message) return {0, {}};
    return {400, "this is no request of HTTP/1.1"};
}

class connection;
struct asked;

/// An answer that is there, for the thread of the connections; asio asks for the allocator.
struct delivery {
    using allocator_type = reserve_allocator<char>;
    allocator_type get_allocator() const noexcept;
    void operator()();

    std::shared_ptr<asked> answered;
    std::shared_ptr<connection> client;
};

}  // namespace

/// Everything but the pool is used by one thread, that of run().
struct http_server::state {
    state(const http_limits& l, http_service& s, http_counts& c) : limits(l), service(s), counts(c) {}

    void listen(const http_address& address);
    void accept();
    void take(tcp::socket socket);
    void watch_for(const std::atomic<int>& stop);
    void drain();
    void end_answers(bool now);

    const http_limits limits;
    http_service& service;
    http_counts& counts;
    known_names names;
    std::unordered_set<connection*> connections;  // outlives io, whose end ends them
    std::optional<asio::thread_pool> pool;
    asio::io_context io{1};
    tcp::acceptor acceptor{io};
    asio::steady_timer pause{io}, watch{io};
    std::optional<clock::time_point> drained_by;
};

namespace {

/// A request on its way to an answer: waiting for a thread, then taken by one.
struct asked {
    http_request request;
    http_response response;
    reserve way_back;
    std::atomic<bool> taken{false};
    std::atomic<int> stop{0};  // a thread's work is in vain
    std::string_view reason;   // why it was stopped; for the thread of the connections
};

/// One client. It lives as long as one of its operations is under way, each of which holds it.
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
        server_.connections.erase(this);
        server_.counts.open = server_.connections.size();
    }
    connection(const connection&) = delete;  // the server points to it
    connection& operator=(const connection&) = delete;

    /// Waits for the next request, which may lie in the buffer already.
    void wait() {
        if (server_.drained_by) return stream_.close();
        // What a refusal needs to know of the request, which may be refused before it is read.
        busy_ = head_ = false;
        version_ = 11;
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(server_.limits.header_bytes));
        if (buffer_.size() != 0) return read_header();
        stream_.expires_after(server_.limits.idle_time);
        stream_.async_read_some(buffer_.prepare(std::min<std::size_t>(4096, buffer_.max_size())),
                                [self = shared_from_this()](error_code fault, std::size_t bytes) {
                                    if (fault) return self->close();
                                    self->buffer_.commit(bytes);
                                    self->read_header();
                                });
    }

    void refuse(unsigned status, std::string_view detail) {
        answered_ = clock::now();
        keep_ = false;
        respond(server_.service.refusal(status, detail));
    }

    /// The server ends: so does a connection that has nothing to answer, and what has not begun is refused. `now`: what
    /// has begun is to end, too, and a client that has not taken its answer by now does not get the rest.
    void drain(bool now) {
        if (!busy_) return stream_.close();
        if (asked_) {
            if (now || !asked_->taken) give_up("the server is ending");
        } else if (now && responded_ <= *server_.drained_by) {
            stream_.close();
        }
    }

    void on_answer(http_response response) {
        const std::string_view reason = asked_->reason;
        end_waiting();
        if (gone_) return close();
        if (response.status == 503 && !reason.empty()) return refuse_once(reason);
        respond(std::move(response));
    }

  private:
    /// The time for a header begins with its first byte, and each byte does not begin it anew: who sends one a minute
    /// to hold a connection does not hold it.
    void read_header() {
        // An empty line before a request is passed over: RFC 9112, section 2.2.
        if (held().starts_with("\r\n")) buffer_.consume(2);
        stream_.expires_after(server_.limits.header_time);
        http::async_read_header(stream_, buffer_, *parser_,
                                [self = shared_from_this()](error_code fault, std::size_t) {
                                    if (fault) return self->on_fault(fault);
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
        const auto [status, detail] = answer_to_fault(fault, held(), whole_first_line);
        if (status == 0) return close();
        head_ = parser_->get().method() == http::verb::head || held().starts_with("HEAD ");
        refuse(status, detail);
    }

    void take_request() {
        busy_ = true;
        answered_ = clock::now();
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
            return refuse(400, "a request has one Host header");
        const std::string host = authority ? *authority : std::string(as_view(header[http::field::host]));
        if (!is_authority(as_view(header[http::field::host])) ||
            (authority && (authority->empty() || !is_authority(*authority))))
            return refuse(400, "the Host header is no host");
        if (!(host.empty() && version_ < 11) && !server_.names.know(host)) {
            return refuse(
                421,
                "this server does not answer to the name in the Host header; --name gives it more names");
        }
        if (has_body) return refuse(413, "requests here have no body");
        if (header.method() != http::verb::get && !head_) {
            target_ = std::move(request.target);
            return respond(server_.service.refusal(405, "there are GET and HEAD"));
        }
        if (!request.target.starts_with('/')) return refuse(400, "a request's target begins with /");
        target_ = request.target;
        hand_over(std::move(request));
    }

    void hand_over(http_request request) {
        if (server_.service.at_hand(request)) {
            const std::atomic<int> never{0};
            return respond(server_.service.answer(request, never));
        }
        ++server_.counts.in_flight;
        asked_ = std::make_shared<asked>();
        asked_->request = std::move(request);
        be_patient();
        asio::post(*server_.pool, [self = shared_from_this(), asked = asked_]() mutable {
            if (asked->taken.exchange(true)) return;
            auto& server = self->server_;
            asked->response.status = 503;
            try {
                asked->response = server.service.answer(asked->request, asked->stop);
            } catch (...) {
                // Not even the words of a refusal: out of memory. The pool would end the process.
            }
            asio::post(server.io, delivery{std::move(asked), std::move(self)});
        });
    }

    void end_waiting() {
        --server_.counts.in_flight;
        asked_.reset();
        patience_.cancel();
        error_code ignored;
        if (watching_) stream_.socket().cancel(ignored);
        watching_ = false;
    }

    /// Nobody waits for the answer any more. One that no thread has taken is refused here; else its thread is told.
    void give_up(std::string_view reason) {
        if (asked_->reason.empty()) asked_->reason = reason;
        asked_->stop = 1;
        if (asked_->taken.exchange(true)) return;
        end_waiting();
        if (gone_) return close();
        refuse_once(reason);
    }

    /// This request alone: the connection may go on.
    void refuse_once(std::string_view detail) { respond(server_.service.refusal(503, detail)); }

    /// Looks after a request until it is answered: is the client there, does it wait too long?
    void be_patient() {
        const auto waited = clock::now() - answered_;
        const auto& limits = server_.limits;
        if (waited >= limits.answer_time) return give_up("the answer takes longer than this server allows");
        if (waited >= limits.queue_time && !asked_->taken) return give_up("the server is busy");
        if (waited >= alone_time && !watching_) watch_client();
        clock::duration next = limits.answer_time;
        for (const clock::duration limit : {clock::duration(alone_time), clock::duration(limits.queue_time)})
            if (limit > waited) next = std::min(next, limit);
        patience_.expires_at(answered_ + next);
        patience_.async_wait([self = shared_from_this(), asked = asked_](error_code stopped) {
            if (!stopped && self->asked_ == asked) self->be_patient();
        });
    }

    /// A client that leaves is seen by what can be read: the end of what it sends, or a fault.
    void watch_client() {
        watching_ = true;
        stream_.socket().async_wait(tcp::socket::wait_read,
                                    [self = shared_from_this(), asked = asked_](error_code fault) {
                                        if (self->asked_ != asked || fault == asio::error::operation_aborted)
                                            return;
                                        self->look_at_client();
                                    });
    }
    void look_at_client() {
        error_code fault;
        char next = 0;
        stream_.socket().non_blocking(true, fault);
        if (!fault) stream_.socket().receive(asio::buffer(&next, 1), tcp::socket::message_peek, fault);
        if (fault == asio::error::eof && version_ >= 11) {
            // It sends no more, and may have left, or wait for its answer. An interim answer (RFC 9110, section 15.2) tells:
            // one who has left resets the connection.
            constexpr std::string_view processing = "HTTP/1.1 102 Processing\r\n\r\n";
            fault.clear();
            if (stream_.socket().send(asio::buffer(processing), 0, fault) != processing.size())
                return client_left();
        } else if (fault && fault != asio::error::eof && fault != asio::error::would_block) {
            return client_left();
        }
        stream_.socket().async_wait(tcp::socket::wait_error,
                                    [self = shared_from_this(), asked = asked_](error_code failed) {
                                        if (self->asked_ == asked && failed != asio::error::operation_aborted)
                                            self->client_left();
                                    });
    }
    void client_left() {
        gone_ = true;
        ++server_.counts.left;
        give_up("the client has left");
    }

    /// What a client has not taken is held here. Short answers always pass: their number is that of the connections.
    bool finds_room(const http_response& response) const {
        const std::size_t bytes = response.body.size(), before = server_.counts.unread;
        return head_ || bytes <= short_answer || before == 0 || before + bytes <= server_.limits.unread_bytes;
    }
    void let_go() {
        serializer_.reset();
        message_.reset();
        server_.counts.unread -= held_bytes_;
        held_bytes_ = 0;
    }

    void respond(http_response response) {
        if (!finds_room(response))
            response = server_.service.refusal(503, "too many answers wait for their clients to take them");
        busy_ = true;
        responded_ = clock::now();
        keep_ = keep_ && !server_.drained_by;
        server_.service.note(
            {target_, response.status, responded_ - answered_, head_ ? 0 : response.body.size()});
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

    /// Closes the sending half and waits, shortly, for the client to close: closing with unread bytes would reset the
    /// connection, and the answer could be lost on its way.
    void linger() {
        error_code ignored;
        stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        stream_.expires_after(linger_time);
        discard(linger_bytes);
    }
    void discard(std::size_t most) {
        stream_.async_read_some(asio::buffer(discarded_),
                                [self = shared_from_this(), most](error_code fault, std::size_t bytes) {
                                    if (fault || bytes >= most || self->server_.drained_by)
                                        return self->close();
                                    self->discard(most - bytes);
                                });
    }
    void close() { stream_.close(); }

    http_server::state& server_;
    beast::tcp_stream stream_;
    asio::steady_timer patience_;  // with the answer that is waited for
    std::shared_ptr<asked> asked_;
    beast::flat_buffer buffer_;
    std::array<char, 4096> discarded_{};
    std::optional<http::request_parser<http::empty_body>> parser_;
    std::optional<http::response<http::string_body>> message_;
    std::optional<http::response_serializer<http::string_body>> serializer_;
    std::size_t held_bytes_ = 0;
    std::string target_;
    clock::time_point answered_;   // since when the request waits for its answer
    clock::time_point responded_;  // since when the answer is being sent
    unsigned version_ = 11;
    bool head_ = false;
    bool keep_ = true;
    bool busy_ = false;      // with an answer
    bool watching_ = false;  // whether the client is still there
    bool gone_ = false;
};

delivery::allocator_type delivery::get_allocator() const noexcept {
    return allocator_type(answered->way_back);
}

void delivery::operator()() {
    client->on_answer(std::move(answered->response));
}

/// The address of IPv4 that is written as one of IPv6 (::ffff:127.0.0.1).
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
    if (fault || found.empty()) throw usage_error(fmt::format("'{}' is no address of a host", address.host));
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
    if (mapped) {  // and as browsers write it
        given.push_back(mapped->to_string());
        given.push_back(fmt::format("::ffff:{:x}:{:x}", mapped->to_uint() >> 16, mapped->to_uint() & 0xFFFF));
    }
    names = known_names(given);
}

void http_server::state::accept() {
    acceptor.async_accept(io, [this](error_code fault, tcp::socket socket) {
        if (!acceptor.is_open()) return;
        if (!fault) {
            accept();  // first: what follows may throw, and the next client is not to wait for ever
            return take(std::move(socket));
        }
        // Out of files or of memory; the client that waits is not lost.
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
    if (before >= limits.connections + refused_at_once) return;  // and the socket closes
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const auto client = std::make_shared<connection>(*this, std::move(socket));
    if (before >= limits.connections) {
        client->refuse(503, "too many connections");
    } else {
        client->wait();
    }
}

void http_server::state::watch_for(const std::atomic<int>& stop) {
    watch.expires_after(pause_of_watch);
    watch.async_wait([this, &stop](error_code) {
        watch_for(stop);  // first: what follows may throw, and the end is not to be missed
        if (!drained_by && stop.load() != 0) drain();
        if (drained_by && (connections.empty() || clock::now() >= *drained_by + last_drain_time))
            return io.stop();
        if (drained_by && clock::now() >= *drained_by) end_answers(true);
    });
}

void http_server::state::drain() {
    drained_by = clock::now() + limits.drain_time;
    error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
    end_answers(false);
}

void http_server::state::end_answers(bool now) {
    // A connection that has nothing to wait for ends, and takes itself out of the list.
    for (const auto& client : std::vector(connections.begin(), connections.end())) {
        try {
            client->drain(now);
        } catch (const std::bad_alloc&) {  // this one ends without a refusal; the others get theirs
        }
    }
}

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
    state_->pool.emplace(threads);
    state_->accept();
    state_->watch_for(stop);
    while (!state_->io.stopped()) {
        try {
            state_->io.run();
        } catch (const std::bad_alloc&) {  // the connection that asked for it is closed; others go on
        }
    }
    state_->pool->stop();
    state_->pool->join();
    state_->pool.reset();  // requests that were never begun hold connections, which end before io does
}

}  // namespace quern::server
