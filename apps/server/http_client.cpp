// SPDX-License-Identifier: Apache-2.0
#include "server/http_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"
#include "server/authority.hpp"
#include "server/site_limits.hpp"

namespace quern::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using std::chrono::steady_clock;

constexpr std::uint64_t max_answer_bytes = site_limits().response_bytes;  // which the servers keep
constexpr std::size_t max_idle = 16;                                      // of each server
constexpr std::chrono::milliseconds between_checks{50};

struct address {
    std::string authority, host, port, target;
};

address address_of(std::string_view url) {
    constexpr std::string_view scheme = "http://";
    const auto refuse = [&] {
        return usage_error(fmt::format("{}: not the address of a server (expected http://HOST:PORT)", url));
    };
    if (!url.starts_with(scheme)) throw refuse();
    const std::string_view rest = url.substr(scheme.size());
    const std::size_t path = std::min(rest.find('/'), rest.size());
    address made;
    made.authority = rest.substr(0, path);
    made.host = host_of(made.authority);
    if (!is_authority(made.authority) || made.host.empty()) throw refuse();
    const std::size_t port =
        made.authority.find(':', made.authority.starts_with('[') ? made.authority.find(']') : 0);
    made.port = port == std::string::npos ? "80" : made.authority.substr(port + 1);
    if (made.host.starts_with('[')) made.host = made.host.substr(1, made.host.size() - 2);
    made.target = rest.substr(path);
    if (!std::ranges::all_of(made.target, [](unsigned char c) { return c > ' ' && c < 127; })) throw refuse();
    while (made.target.ends_with('/')) made.target.pop_back();
    made.target += "/api/shard";
    return made;
}

struct reply {
    unsigned status = 0;
    std::string body;
};

/// The body of an answer; throws what a server refuses.
std::string body_of(const std::string& url, reply got) {
    if (got.status == 200) return std::move(got.body);
    std::string reason = fmt::format("status {}", got.status);
    try {
        reason = nlohmann::json::parse(got.body).at("detail").get<std::string>();
    } catch (const nlohmann::json::exception&) {  // not the answer of quern serve
    }
    if (got.status == 409) throw shard_failed(url, reason);
    if (got.status == 400) throw usage_error(fmt::format("{}: {}", url, reason));
    throw shard_failed(url, fmt::format("the server of this shard answers: {}", reason));
}

shard_failed late(const std::string& url, std::chrono::milliseconds patience) {
    return {url, fmt::format("the server of this shard has not answered within {:g} seconds",
                             std::chrono::duration<double>(patience).count())};
}

using stream = beast::tcp_stream;

/// The addresses of names. The system cannot end a look-up, so each has a thread of its own: a name whose server does not answer
/// delays neither others nor the end of the program. Requests for the same name wait for one look-up.
class name_look_ups : public std::enable_shared_from_this<name_look_ups> {
  public:
    using found = tcp::resolver::results_type;
    using sink = std::function<void(const boost::system::error_code&, const found&)>;

    name_look_ups(asio::io_context& io, std::function<void(const std::string&)> before)
        : io_(&io), before_(std::move(before)) {}

    /// Calls `to` in the thread of the io_context, as this function is called. Throws system_error without a thread.
    void find(const address& of, sink to) {
        auto& waiting = waiting_[of.authority];
        waiting.push_back(std::move(to));
        if (waiting.size() > 1) return;
        try {
            std::thread([self = shared_from_this(), of] { self->look_up(of); }).detach();
        } catch (const std::system_error& e) {
            waiting_.erase(of.authority);
            throw boost::system::system_error(e.code().value(), boost::system::system_category());
        }
    }
    /// What is found later is ignored. After the last work of the io_context.
    void close() {
        const std::lock_guard hold(mutex_);
        io_ = nullptr;
        waiting_.clear();
    }

  private:
    void look_up(const address& of) {
        boost::system::error_code failed;
        found addresses;
        try {
            if (before_) before_(of.host);
            asio::io_context own;
            addresses = tcp::resolver(own).resolve(of.host, of.port, failed);
        } catch (const std::exception&) {
            failed = asio::error::no_memory;
        }
        const std::lock_guard hold(mutex_);
        if (io_ == nullptr) return;
        asio::post(*io_, [self = shared_from_this(), name = of.authority, failed, addresses] {
            const auto waiting = self->waiting_.extract(name);
            if (waiting.empty()) return;
            for (const sink& give : waiting.mapped()) give(failed, addresses);
        });
    }

    std::mutex mutex_;
    asio::io_context* io_;  ///< null: closed
    const std::function<void(const std::string&)> before_;
    std::map<std::string, std::vector<sink>> waiting_;
};

/// What all exchanges share. Only the thread that runs them uses `idle`.
struct connections {
    connections(std::chrono::milliseconds limit, std::function<void(const std::string&)> before_look_up)
        : patience(limit), names(std::make_shared<name_look_ups>(io, std::move(before_look_up))) {}

    const std::chrono::milliseconds patience;
    asio::io_context io{1};
    const std::shared_ptr<name_look_ups> names;
    std::map<std::string, std::vector<stream>> idle;
};

/// A request and its response, on a kept connection or a new one.
class exchange : public std::enable_shared_from_this<exchange> {
  public:
    exchange(connections& of, address to, std::string body)
        : connections_(of), to_(std::move(to)), end_(steady_clock::now() + of.patience) {
        request_.set(http::field::host, to_.authority);
        request_.set(http::field::content_type, "application/json");
        request_.method(http::verb::post);
        request_.target(to_.target);
        request_.body() = std::move(body);
        request_.prepare_payload();
    }

    std::future<reply> start() {
        asio::post(connections_.io, [self = shared_from_this()] {
            self->attempt([&] {
                auto& idle = self->connections_.idle[self->to_.authority];
                if (idle.empty()) return self->connect();
                self->is_kept_ = true;
                self->stream_.emplace(std::move(idle.back()));
                idle.pop_back();
                self->write();
            });
        });
        return done_.get_future();
    }

  private:
    template <class Work>
    void attempt(const Work& work) noexcept {
        try {
            work();
        } catch (...) {
            done_.set_exception(std::current_exception());
        }
    }

    /// What follows an operation, with its result.
    template <class Work>
    auto then(Work work) {
        return
            [self = shared_from_this(), work](const boost::system::error_code& failed, const auto& result) {
                self->attempt([&] { failed ? self->fail(failed) : work(result); });
            };
    }

    void fail(const boost::system::error_code& why) {
        // A server closes a connection that has been idle. A step may be sent twice.
        if (std::exchange(is_kept_, false) && why != beast::error::timeout) return connect();
        throw boost::system::system_error(why);
    }

    void connect() {
        buffer_.clear();
        connections_.names->find(to_, then([this](const auto& found) {
                                     // Nobody waits any more.
                                     if (steady_clock::now() > end_) return fail(beast::error::timeout);
                                     stream_.emplace(connections_.io);
                                     stream_->expires_after(connections_.patience);
                                     stream_->async_connect(
                                         found, then([this](const auto&) {
                                             stream_->socket().set_option(tcp::no_delay(true));
                                             write();
                                         }));
                                 }));
    }

    void write() {
        stream_->expires_after(connections_.patience);
        http::async_write(*stream_, request_, then([this](std::size_t) { read(); }));
    }

    void read() {
        response_.emplace();
        response_->body_limit(max_answer_bytes);
        http::async_read(*stream_, buffer_, *response_, then([this](std::size_t) {
            // 102 Processing comes before an answer that takes long.
            response_->get().result_int() < 200 ? read() : finish();
        }));
    }

    void finish() {
        auto& response = response_->get();
        auto& idle = connections_.idle[to_.authority];
        if (response.keep_alive() && buffer_.size() == 0 && idle.size() < max_idle)
            idle.push_back(std::move(*stream_));
        done_.set_value({response.result_int(), std::move(response.body())});
    }

    connections& connections_;
    const address to_;
    const steady_clock::time_point end_;
    std::optional<stream> stream_;
    bool is_kept_ = false;  // from an exchange before
    http::request<http::string_body> request_;
    beast::flat_buffer buffer_;
    std::optional<http::response_parser<http::string_body>> response_;
    std::promise<reply> done_;
};

class client : public std::enable_shared_from_this<client> {
  public:
    client(std::chrono::milliseconds patience, std::function<void(const std::string&)> before_look_up)
        : connections_(patience, std::move(before_look_up)) {}
    client(const client&) = delete;  // its thread points to it
    client& operator=(const client&) = delete;
    ~client() {
        connections_.io.stop();
        if (thread_.joinable()) thread_.join();
        connections_.names->close();
    }

    shard_answers send(std::span<const shard_request> requests, const context& ctx) {
        std::call_once(started_, [this] { thread_ = std::thread([this] { connections_.io.run(); }); });
        struct waiting {
            std::string url;
            std::future<reply> answer;
        };
        auto sent = std::make_shared<std::vector<waiting>>();
        for (const shard_request& of : requests)
            sent->push_back(
                {of.url, std::make_shared<exchange>(connections_, address_of(of.url), of.body)->start()});
        const auto end = steady_clock::now() + connections_.patience;
        return [self = shared_from_this(), sent, &ctx, end] {
            std::vector<std::string> answers;
            for (waiting& of : *sent) {
                while (of.answer.wait_for(between_checks) != std::future_status::ready) {
                    ctx.check_stop();
                    if (steady_clock::now() > end) throw late(of.url, self->connections_.patience);
                }
                answers.push_back(body_of(of.url, self->got(of.url, of.answer)));
            }
            return answers;
        };
    }

  private:
    reply got(const std::string& url, std::future<reply>& answer) const {
        try {
            return answer.get();
        } catch (const boost::system::system_error& e) {
            if (e.code() == beast::error::timeout) throw late(url, connections_.patience);
            throw shard_failed(
                url, fmt::format("the server of this shard cannot be asked: {}", e.code().message()));
        }
    }

    connections connections_;
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(connections_.io);
    std::once_flag started_;
    std::thread thread_;
};

}  // namespace

void check_address(std::string_view url) {
    (void)address_of(url);
}

ask_shards http_shards(std::chrono::milliseconds patience,
                       std::function<void(const std::string& host)> before_look_up) {
    return [asker = std::make_shared<client>(patience, std::move(before_look_up))](
               std::span<const shard_request> requests, const context& ctx) {
        return asker->send(requests, ctx);
    };
}

}  // namespace quern::server
