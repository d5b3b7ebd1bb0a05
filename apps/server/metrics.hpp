// SPDX-License-Identifier: Apache-2.0
// Server metrics for Prometheus: requests by route and status, their durations, bytes sent.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quern::server {

/// Used only by the thread of the connections.
class metrics {
  public:
    void count(std::string_view route, unsigned status, std::chrono::nanoseconds taken,
               std::size_t body_bytes);
    std::uint64_t requests() const { return requests_; }
    /// In the Prometheus text format, version 0.0.4.
    void append_to(std::string& text) const;

  private:
    static constexpr std::array<double, 13> bounds{.0005, .001, .0025, .005, .01, .025, .05,
                                                   .1,    .25,  .5,    1,    2.5, 5};
    struct of_route {
        std::map<unsigned, std::uint64_t> by_status;
        std::array<std::uint64_t, bounds.size() + 1> by_time{};  // the last: above all bounds
        double seconds = 0;
        std::uint64_t body_bytes = 0;
    };
    std::map<std::string, of_route, std::less<>> routes_;
    std::uint64_t requests_ = 0;
};

/// Appends one metric without labels, with its help text.
void append_metric(std::string& text, std::string_view name, std::string_view type, std::string_view help,
                   std::uint64_t value);

}  // namespace quern::server
