// SPDX-License-Identifier: Apache-2.0
// The best of many numbered items, in memory for the best alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

namespace quern {

/// The `shown` of `count` items with the highest values; equal ones in order.
template <typename Value>
std::vector<std::uint32_t> highest(std::size_t count, std::size_t shown, Value value) {
    if (shown == 0) return {};
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return value(a) != value(b) ? value(a) > value(b) : a < b;
    };
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(before)> best(
        before);  // the last on top
    for (std::uint32_t i = 0; i < count; ++i) {
        if (best.size() < shown) {
            best.push(i);
        } else if (before(i, best.top())) {
            best.pop();
            best.push(i);
        }
    }
    std::vector<std::uint32_t> in_order(best.size());
    for (std::size_t i = in_order.size(); i-- > 0; best.pop()) in_order[i] = best.top();
    return in_order;
}

}  // namespace quern
