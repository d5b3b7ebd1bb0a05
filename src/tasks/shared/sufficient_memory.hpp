// SPDX-License-Identifier: Apache-2.0
// The --memory that a message names: "--memory 300M is enough". with_memory_of_all() of cluster.hpp finds it again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern {

inline constexpr std::string_view before_memory = "--memory ", after_memory = "M is enough";

/// Of the next larger number of MiB.
inline std::string sufficient_memory(double bytes) {
    constexpr double mebibyte = 1 << 20;
    return std::string(before_memory)
        .append(std::to_string(static_cast<std::uint64_t>(bytes / mebibyte) + 1))
        .append(after_memory);
}

}  // namespace quern
