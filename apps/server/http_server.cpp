// SPDX-License-Identifier: Apache-2.0
#include "server/http_server.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "quern/base/error.hpp"
#include "server/http_connection.hpp"

namespace quern::server {
namespace {

constexpr std::size_t refused_at_once =
    64;  // connections beyond the limit that get a response before they are closed
constexpr std::chrono::milliseconds pause_without_files{100};
constexpr std::chrono::milliseconds pause_of_watch{50};
// For refusing stopped requests at the end. Together with drain_time it is well below the second and a half
// after which the program is ended by force (apps/cli/signals.cpp).
constexpr std::chrono::milliseconds last_drain_time{200};

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
