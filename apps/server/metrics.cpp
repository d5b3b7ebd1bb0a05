// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "quern/base/rows.hpp"

namespace quern::server {
namespace {

void append_head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

void metrics::count(std::string_view route, unsigned status, std::chrono::nanoseconds taken,
                    std::size_t body_bytes) {
    auto at = routes_.find(route);
    if (at == routes_.end()) at = routes_.emplace(route, of_route{}).first;
    const double seconds = std::chrono::duration<double>(taken).count();
    ++requests_;
    ++at->second.by_status[status];
    ++at->second
          .by_time[static_cast<std::size_t>(std::ranges::lower_bound(bounds, seconds) - bounds.begin())];
    at->second.seconds += seconds;
    at->second.body_bytes += body_bytes;
}

void metrics::append_to(std::string& text) const {
    auto out = std::back_inserter(text);
    append_head(text, "quern_http_requests_total", "counter", "Requests answered.");
    for (const auto& [route, all] : routes_) {
        for (const auto& [status, count] : all.by_status) {
            fmt::format_to(out, "quern_http_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", route, status,
                           count);
        }
    }
    append_head(text, "quern_http_response_body_bytes_total", "counter", "Bytes of response bodies.");
    for (const auto& [route, all] : routes_) {
        fmt::format_to(out, "quern_http_response_body_bytes_total{{route=\"{}\"}} {}\n", route,
                       all.body_bytes);
    }
    constexpr std::string_view time = "quern_http_request_duration_seconds";
    append_head(
        text, time, "histogram",
        "Time from the last byte of a request's header to its response, including the wait for a thread.");
    for (const auto& [route, all] : routes_) {
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < all.by_time.size(); ++i) {
            count += all.by_time[i];
            const std::string bound = i < bounds.size() ? fmt::format("{}", bounds[i]) : "+Inf";
            fmt::format_to(out, "{}_bucket{{route=\"{}\",le=\"{}\"}} {}\n", time, route, bound, count);
        }
        fmt::format_to(out, "{}_sum{{route=\"{}\"}} {}\n{}_count{{route=\"{}\"}} {}\n", time, route,
                       shortest(all.seconds), time, route, count);
    }
}

void append_metric(std::string& text, std::string_view name, std::string_view type, std::string_view help,
                   std::uint64_t value) {
    append_head(text, name, type, help);
    fmt::format_to(std::back_inserter(text), "{} {}\n", name, value);
}

}  // namespace quern::server
