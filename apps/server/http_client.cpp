// SPDX-License-Identifier: Apache-2.0
#include "server/http_client.hpp"

#include <utility>  // before boost/asio/awaitable.hpp, which uses it without including it

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "quern/base/error.hpp"
#include "server/authority.hpp"

namespace quern::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using std::chrono::steady_clock;

constexpr std::uint64_t max_answer_bytes = 64 << 20;
constexpr std::size_t max_idle = 16;  // of each server
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

/// The body of an answer that is none of a server's refusals.
std::string body_of(const std::string& url, reply got) {
    if (got.status == 200) return std::move(got.body);
    if (got.status == 409)
        throw shard_failed(url,
                           "this server does not have the shard (expected the store that was there before): "
                           "serve that one, or write the sharded store again");
    std::string reason = fmt::format("status {}", got.status);
    try {
        reason = nlohmann::json::parse(got.body).at("detail").get<std::string>();
    } catch (const nlohmann::json::exception&) {  // another server than ours
    }
    if (got.status == 400) throw usage_error(fmt::format("{}: {}", url, reason));
    throw shard_failed(url, fmt::format("the server of this shard answers: {}", reason));
}

shard_failed late(const std::string& url, std::chrono::milliseconds patience) {
    return {url, fmt::format("the server of this shard has not answered within {:g} seconds",
                             std::chrono::duration<double>(patience).count())};
}

class client : public std::enable_shared_from_this<client> {
  public:
    explicit client(std::chrono::milliseconds patience) : patience_(patience) {}
    client(const client&) = delete;  // its thread points to it
    client& operator=(const client&) = delete;
    ~client() {
        work_.reset();
        io_.stop();
        if (thread_.joinable()) thread_.join();
    }

    shard_answers send(std::span<const shard_request> requests, const context& ctx) {
        std::call_once(started_, [this] { thread_ = std::thread([this] { io_.run(); }); });
        struct waiting {
            std::string url;
            std::future<reply> answer;
        };
        auto sent = std::make_shared<std::vector<waiting>>();
        for (const shard_request& of : requests)
            sent->push_back(
                {of.url, asio::co_spawn(io_, post(address_of(of.url), of.body), asio::use_future)});
        return [self = shared_from_this(), sent, &ctx, end = steady_clock::now() + patience_] {
            std::vector<std::string> answers;
            for (waiting& of : *sent) {
                while (of.answer.wait_for(between_checks) != std::future_status::ready) {
                    ctx.check_stop();
                    if (steady_clock::now() > end) throw late(of.url, self->patience_);
                }
                answers.push_back(body_of(of.url, self->got(of.url, of.answer)));
            }
            return answers;
        };
    }

  private:
    using stream = beast::tcp_stream;

    reply got(const std::string& url, std::future<reply>& answer) const {
        try {
            return answer.get();
        } catch (const boost::system::system_error& e) {
            if (e.code() == beast::error::timeout) throw late(url, patience_);
            throw shard_failed(
                url, fmt::format("the server of this shard cannot be asked: {}", e.code().message()));
        }
    }

    // What follows runs in thread_ alone.

    asio::awaitable<stream> connect(const address& to) {
        tcp::resolver resolver(io_);
        const auto found = co_await resolver.async_resolve(to.host, to.port, asio::use_awaitable);
        stream made(io_);
        made.expires_after(patience_);
        co_await made.async_connect(found, asio::use_awaitable);
        made.socket().set_option(tcp::no_delay(true));
        co_return made;
    }

    /// Keeps the connection, if the server does.
    asio::awaitable<reply> exchange(stream with, const address& to, const std::string& body) {
        http::request<http::string_body> request{http::verb::post, to.target, 11};
        request.set(http::field::host, to.authority);
        request.set(http::field::content_type, "application/json");
        request.body() = body;
        request.prepare_payload();
        with.expires_after(patience_);
        co_await http::async_write(with, request, asio::use_awaitable);
        beast::flat_buffer buffer;
        std::optional<http::response_parser<http::string_body>> response;
        do {  // 102 Processing comes before an answer that takes long
            response.emplace();
            response->body_limit(max_answer_bytes);
            co_await http::async_read(with, buffer, *response, asio::use_awaitable);
        } while (response->get().result_int() < 200);
        if (auto& idle = idle_[to.authority];
            response->get().keep_alive() && buffer.size() == 0 && idle.size() < max_idle)
            idle.push_back(std::move(with));
        co_return reply{response->get().result_int(), std::move(response->get().body())};
    }

    asio::awaitable<reply> post(address to, std::string body) {
        if (auto& idle = idle_[to.authority]; !idle.empty()) {
            stream kept = std::move(idle.back());
            idle.pop_back();
            try {
                co_return co_await exchange(std::move(kept), to, body);
            } catch (const boost::system::system_error& e) {
                if (e.code() == beast::error::timeout) throw;
                // The server has closed it meanwhile. A step may be sent twice.
            }
        }
        stream made = co_await connect(to);
        co_return co_await exchange(std::move(made), to, body);
    }

    const std::chrono::milliseconds patience_;
    asio::io_context io_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
    std::map<std::string, std::vector<stream>> idle_;
    std::once_flag started_;
    std::thread thread_;
};

}  // namespace

void check_address(std::string_view url) {
    (void)address_of(url);
}

ask_shards http_shards(std::chrono::milliseconds patience) {
    return [asker = std::make_shared<client>(patience)](std::span<const shard_request> requests,
                                                        const context& ctx) {
        return asker->send(requests, ctx);
    };
}

}  // namespace quern::server
