// SPDX-License-Identifier: Apache-2.0
// serve_bench PORT PATH QUERIES CLIENTS SECONDS: clients of a server on this machine. Each has its own connection,
// requests PATH (followed by a line of QUERIES if it ends with =), reads the whole response, and repeats. One thread and
// epoll, so that the clients use little of the machine that they share with the server. Prints JSON: responses, seconds,
// errors (responses other than 200, connections lost), and the times from request to complete response in ms.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct client {
    int socket = -1;
    std::string received;
    clock_type::time_point requested;
    std::size_t next = 0;  // query
};

int connect_to(std::uint16_t port) {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        throw std::runtime_error("cannot connect");
    const int on = 1;
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return made;
}

/// The length of the first response in the received bytes; 0 while it is incomplete.
std::size_t response_length(std::string_view received) {
    const std::size_t header_end = received.find("\r\n\r\n");
    if (header_end == std::string_view::npos) return 0;
    constexpr std::string_view name = "\r\nContent-Length: ";
    const std::size_t at = received.find(name);
    if (at == std::string_view::npos || at > header_end)
        throw std::runtime_error("a response without a length");
    std::size_t length = 0;
    std::from_chars(received.data() + at + name.size(), received.data() + header_end, length);
    const std::size_t whole = header_end + 4 + length;
    return received.size() < whole ? 0 : whole;
}

class load {
  public:
    load(std::uint16_t port, std::string path, std::vector<std::string> queries, std::size_t clients)
        : path_(std::move(path)),
          queries_(std::move(queries)),
          clients_(clients),
          events_(epoll_create1(EPOLL_CLOEXEC)) {
        for (std::size_t i = 0; i < clients; ++i) {
            clients_[i].socket = connect_to(port);
            clients_[i].next = i * 7919;
            epoll_event wanted{};
            wanted.events = EPOLLIN;
            wanted.data.u64 = i;
            epoll_ctl(events_, EPOLL_CTL_ADD, clients_[i].socket, &wanted);
        }
    }
    ~load() {
        for (const client& c : clients_) close(c.socket);
        close(events_);
    }
    load(const load&) = delete;
    load& operator=(const load&) = delete;

    void run(double seconds) {
        const auto begin = clock_type::now();
        for (client& c : clients_) ask(c);
        std::array<epoll_event, 64> ready{};
        while (std::chrono::duration<double>(clock_type::now() - begin).count() < seconds &&
               errors_ < clients_.size()) {
            const int count = epoll_wait(events_, ready.data(), static_cast<int>(ready.size()), 100);
            for (int i = 0; i < count; ++i) take(clients_[ready[static_cast<std::size_t>(i)].data.u64]);
        }
        seconds_ = std::chrono::duration<double>(clock_type::now() - begin).count();
    }

    void print() {
        std::ranges::sort(times_);
        const auto at = [&](double share) {
            return times_.empty()
                       ? 0
                       : times_[static_cast<std::size_t>(share * static_cast<double>(times_.size() - 1))];
        };
        fmt::print(
            "{{\"answers\":{},\"seconds\":{:.3f},\"errors\":{},\"p50\":{:.3f},\"p99\":{:.3f},\"worst\":{:.3f}"
            "}}\n",
            times_.size(), seconds_, errors_, at(.5), at(.99), at(1));
    }

  private:
    void ask(client& c) {
        const std::string request =
            fmt::format("GET {}{} HTTP/1.1\r\nHost: localhost\r\n\r\n", path_,
                        path_.ends_with('=') ? queries_[c.next++ % queries_.size()] : std::string());
        c.requested = clock_type::now();
        if (send(c.socket, request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size()))
            ++errors_;
    }

    void take(client& c) {
        std::array<char, 65536> piece{};
        const ssize_t got = recv(c.socket, piece.data(), piece.size(), 0);
        if (got <= 0) {
            ++errors_;
            epoll_ctl(events_, EPOLL_CTL_DEL, c.socket, nullptr);
            return;
        }
        c.received.append(piece.data(), static_cast<std::size_t>(got));
        if (response_length(c.received) == 0) return;
        times_.push_back(std::chrono::duration<float, std::milli>(clock_type::now() - c.requested).count());
        if (!c.received.starts_with("HTTP/1.1 200 ")) ++errors_;
        c.received.clear();
        ask(c);
    }

    std::string path_;
    std::vector<std::string> queries_;
    std::vector<client> clients_;
    int events_;
    std::vector<float> times_;
    std::size_t errors_ = 0;
    double seconds_ = 0;
};

}  // namespace

int main(int count, char** values) {
    if (count != 6) {
        std::fputs("usage: serve_bench PORT PATH QUERIES CLIENTS SECONDS\n", stderr);
        return 2;
    }
    std::vector<std::string> queries;
    std::ifstream file(values[3]);
    for (std::string line; std::getline(file, line);) queries.push_back(line);
    load all(static_cast<std::uint16_t>(std::atoi(values[1])), values[2], std::move(queries),
             static_cast<std::size_t>(std::atoi(values[4])));
    all.run(std::atof(values[5]));
    all.print();
    return 0;
}
