// SPDX-License-Identifier: Apache-2.0
// The server of connections in front of a service made here: memory that ends at the worst moment. What clients meet is
// tested from outside (test_hostile.py).
#include "server/http_server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <thread>

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

namespace quern::server {
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

std::string response_of(std::uint16_t port, const std::string& request) {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{20, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string received;
    if (connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
        send(client, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size())) {
        char piece[4096];
        for (ssize_t got = 0; (got = recv(client, piece, sizeof piece, 0)) > 0;)
            received.append(piece, static_cast<std::size_t>(got));
    }
    close(client);
    return received;
}

TEST(http_server_test, answers_find_their_way_when_their_thread_has_no_memory_left) {
    poor_service service;
    http_counts counts;
    http_server server({}, {}, service, counts);
    const std::string url = server.url();
    const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    std::atomic<int> stop{0};
    std::thread serving([&] { server.run(2, stop); });
    for (int i = 0; i < 20; ++i) {
        const std::string handle =
            response_of(port, "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        EXPECT_TRUE(handle.starts_with("HTTP/1.1 200 ")) << handle;
        EXPECT_TRUE(handle.ends_with(std::string(1000, 'x')));
    }
    stop = 15;
    serving.join();
    EXPECT_EQ(counts.in_flight, 0U);
    EXPECT_EQ(counts.open, 0U);
    EXPECT_EQ(counts.unread, 0U);
}

}  // namespace
}  // namespace quern::server
