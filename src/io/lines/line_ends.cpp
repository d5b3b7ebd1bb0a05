// SPDX-License-Identifier: Apache-2.0
#include "io/lines/line_ends.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace quern::io {

std::uint64_t count_line_ends(std::string_view text) noexcept {
    // The compiler adds counts that fit a byte as vectors: as many rounds as cannot overflow one.
    constexpr std::size_t lanes = 32, max_rounds = 255;
    std::uint64_t total = 0;
    while (text.size() >= lanes) {
        const std::size_t rounds = std::min(text.size() / lanes, max_rounds);
        std::array<std::uint8_t, lanes> counts{};
        const char* at = text.data();
        for (std::size_t round = 0; round < rounds; ++round, at += lanes) {
            for (std::size_t i = 0; i < lanes; ++i)
                counts[i] = static_cast<std::uint8_t>(counts[i] + static_cast<std::uint8_t>(at[i] == '\n'));
        }
        for (const std::uint8_t count : counts) total += count;
        text.remove_prefix(rounds * lanes);
    }
    return total + static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace quern::io
