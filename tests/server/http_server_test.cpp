// SPDX-License-Identifier: Apache-2.0
// The server of connections in front of services made here: memory that ends at the worst moment, and the end of the
// server with requests in every state. What clients meet is tested from outside (test_hostile.py).
#include "server/http_server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

thread_local bool out_of_memory_here = false;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    void* const memory = out_of_memory_here ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace quern::server::http_server_test {
namespace {

/// From the moment an answer is there its thread gets no more memory.
class poor_service : public http_service {
  public:
    bool is_ready(const http_request&) const override { return false; }
    http_response handle(const http_request&, const std::atomic<int>&) override {
        out_of_memory_here = false;
        http_response made{200, "text/plain", std::string(1000, 'x')};
        made.headers.emplace_back("Name", "a value that is too long to be kept without memory of its own");
        out_of_memory_here = true;
        return made;
    }
    http_response refusal(unsigned status, std::string_view detail) override {
        return {status, "text/plain", std::string(detail)};
    }
    void note(const http_exchange&) override {}
};

/// The requests to /held wait until they are released or stopped; responses to others are too large for any socket.
class held_service : public http_service {
  public:
    bool is_ready(const http_request& request) const override { return request.target == "/ready"; }
    http_response handle(const http_request& request, const std::atomic<int>& stop) override {
        if (request.target == "/ready") return {200, "text/plain", "ready"};
        if (request.target != "/held") return {200, "text/plain", std::string(64 << 20, 'x')};
        ++begun;
        while (!released && stop == 0) std::this_thread::yield();
        return stop != 0 ? refusal(503, "stopped") : http_response{200, "text/plain", "released"};
    }
    http_response refusal(unsigned status, std::string_view detail) override {
        return {status, "text/plain", std::string(detail)};
    }
    void note(const http_exchange&) override {}

    std::atomic<int> begun = 0;
    std::atomic<bool> released = false;
};

/// Takes bodies of up to 1,000 bytes and answers with their sizes; holds those to /held.
class body_service : public held_service {
  public:
    bool is_ready(const http_request&) const override { return false; }
    std::size_t max_body_bytes(const http_request&) const override { return 1000; }
    http_response handle(const http_request& request, const std::atomic<int>& stop) override {
        if (request.target == "/held") return held_service::handle(request, stop);
        return {200, "text/plain", std::to_string(request.body.size()) + " of " + request.content_type};
    }
};

class client {
  public:
    client(std::uint16_t port, std::string_view request) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience{120, 0};
        setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
        EXPECT_EQ(send(socket_, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    }
    client(const client&) = delete;  // owns its socket
    client& operator=(const client&) = delete;
    ~client() { close(socket_); }

    void wait_for_response() {
        char first = 0;
        EXPECT_EQ(recv(socket_, &first, 1, MSG_PEEK), 1);
    }
    /// Everything until the server closes.
    std::string response() {
        std::string received;
        char piece[4096];
        for (ssize_t got = 0; (got = recv(socket_, piece, sizeof piece, 0)) > 0;)
            received.append(piece, static_cast<std::size_t>(got));
        return received;
    }

  private:
    int socket_;
};

std::uint16_t port_of(const http_server& server) {
    const std::string url = server.url();
    return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

/// Nothing ends by itself.
http_limits endless() {
    constexpr std::chrono::hours hour(1);
    return {.header_time = hour,
            .idle_time = hour,
            .write_time = hour,
            .queue_time = hour,
            .response_time = hour,
            .drain_time = hour};
}

template <typename Condition>
void wait_until(const Condition& is_true) {
    while (!is_true()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(http_server_test, answers_find_their_way_when_their_thread_has_no_memory_left) {
    poor_service service;
    http_counts counts;
    http_server server({}, {}, service, counts);
    std::atomic<int> stop{0};
    std::thread serving([&] { server.run(2, stop); });
    for (int i = 0; i < 20; ++i) {
        const std::string response =
            client(port_of(server), "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                .response();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << response;
        EXPECT_TRUE(response.ends_with(std::string(1000, 'x')));
    }
    stop = 15;
    serving.join();
    EXPECT_EQ(counts.in_flight, 0U);
    EXPECT_EQ(counts.open, 0U);
    EXPECT_EQ(counts.unread, 0U);
}

constexpr std::string_view held_request = "GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::string post(std::string_view target, std::size_t length, std::string_view body) {
    return "POST " + std::string(target) +
           " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: x/y\r\n" +
           "Content-Length: " + std::to_string(length) + "\r\n\r\n" + std::string(body);
}

TEST(http_server_test, bodies_have_limits_of_bytes_and_time) {
    body_service service;
    http_counts counts;
    http_limits limits = endless();
    limits.body_time = std::chrono::hours(1);
    limits.body_bytes = 1500;
    http_server server({}, limits, service, counts);
    std::atomic<int> stop{0};
    std::thread serving([&] { server.run(1, stop); });
    const auto answer = [&](const std::string& sent) { return client(port_of(server), sent).response(); };
    EXPECT_TRUE(answer(post("/x", 1000, std::string(1000, 'b'))).ends_with("1000 of x/y"));
    EXPECT_TRUE(answer(post("/x", 0, "")).ends_with("0 of x/y"));
    EXPECT_TRUE(answer(post("/x", 1001, std::string(1001, 'b'))).starts_with("HTTP/1.1 413 "));
    EXPECT_EQ(counts.bodies, 0U);
    {
        client held(port_of(server), post("/held", 1000, std::string(1000, 'b')));
        wait_until([&] { return service.begun == 1; });
        EXPECT_EQ(counts.bodies, 1000U);
        EXPECT_TRUE(answer(post("/x", 501, std::string(501, 'b'))).starts_with("HTTP/1.1 503 "));
        service.released = true;
        EXPECT_TRUE(held.response().ends_with("released"));
    }
    EXPECT_TRUE(answer(post("/x", 501, std::string(501, 'b'))).ends_with("501 of x/y"));
    client slow(port_of(server), post("/x", 1000, "b"));
    wait_until([&] { return counts.bodies == 1000; });
    stop = 15;  // a body that never ends does not hold the end
    serving.join();
    EXPECT_EQ(counts.bodies, 0U);
    EXPECT_EQ(counts.open, 0U);
}

TEST(http_server_test, a_slow_body_ends_its_connection) {
    body_service service;
    http_counts counts;
    http_limits limits = endless();
    limits.body_time = std::chrono::milliseconds(50);
    http_server server({}, limits, service, counts);
    std::atomic<int> stop{0};
    std::thread serving([&] { server.run(1, stop); });
    EXPECT_EQ(client(port_of(server), post("/x", 1000, "b")).response(), "");
    wait_until([&] { return counts.timed_out == 1; });
    stop = 15;
    serving.join();
    EXPECT_EQ(counts.bodies, 0U);
}

TEST(http_server_test, at_its_end_a_request_in_progress_is_finished_and_those_that_wait_are_refused) {
    held_service service;
    http_counts counts;
    http_server server({}, endless(), service, counts);
    std::atomic<int> stop{0};
    std::thread serving([&] { server.run(1, stop); });
    client first(port_of(server), held_request);
    wait_until([&] { return service.begun == 1; });
    std::vector<std::unique_ptr<client>> waiting;
    for (int i = 0; i < 10; ++i)  // followed by another request
        waiting.push_back(std::make_unique<client>(
            port_of(server), std::string(held_request) + "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    wait_until([&] { return counts.in_flight == 11; });
    stop = 15;
    for (const auto& one : waiting) {
        const std::string response = one->response();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 503 ")) << response;
        EXPECT_TRUE(response.ends_with("the server is shutting down")) << response;
    }
    service.released = true;
    const std::string response = first.response();
    EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << response;
    EXPECT_TRUE(response.ends_with("released")) << response;
    serving.join();
    EXPECT_EQ(service.begun, 1);
    EXPECT_EQ(counts.in_flight, 0U);
    EXPECT_EQ(counts.open, 0U);
}

TEST(http_server_test, a_request_in_progress_is_stopped_when_the_time_of_the_end_is_over) {
    held_service service;
    http_counts counts;
    http_limits limits = endless();
    limits.drain_time = std::chrono::milliseconds(1);
    std::optional<http_server> server(std::in_place, http_address{}, limits, service, counts);
    std::atomic<int> stop{0};
    std::thread serving([&] { server->run(1, stop); });
    client first(port_of(*server), held_request);
    wait_until([&] { return service.begun == 1; });
    stop = 15;
    serving.join();
    server.reset();
    const std::string response = first.response();
    EXPECT_TRUE(response.empty() || response.starts_with("HTTP/1.1 503 ")) << response;
}

TEST(http_server_test, a_client_that_does_not_read_does_not_hold_the_end) {
    held_service service;
    http_counts counts;
    http_limits limits = endless();
    limits.drain_time = std::chrono::milliseconds(1);
    std::optional<http_server> server(std::in_place, http_address{}, limits, service, counts);
    std::atomic<int> stop{0};
    std::thread serving([&] { server->run(1, stop); });
    client first(port_of(*server), "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    first.wait_for_response();
    EXPECT_GT(counts.unread, 0U);
    stop = 15;
    serving.join();
    server.reset();
    EXPECT_EQ(counts.open, 0U);
    EXPECT_EQ(counts.unread, 0U);
}

}  // namespace
}  // namespace quern::server::http_server_test
