// SPDX-License-Identifier: Apache-2.0
// Words, spelled from syllables: the common ones short, one in 32 of them with letters beyond ASCII.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace quern::generator {

/// Word number n, spelled; different numbers give different words.
inline std::string spell(std::uint64_t number) {
    static constexpr std::array<std::string_view, 16> heads = {"b", "c",  "d", "f", "g", "h", "l",  "m",
                                                               "n", "pr", "r", "s", "t", "v", "st", "w"};
    static constexpr std::array<std::string_view, 8> tails = {"a", "e", "i", "o", "u", "en", "or", "al"};
    static constexpr std::array<std::string_view, 8> accented = {"ä", "é", "í", "ö", "ü", "ñ", "ž", "ø"};
    std::string word;
    const bool beyond_ascii = number % 32 == 31;
    for (std::uint64_t rest = number + 1; rest != 0; rest = (rest - 1) / 128) {
        const std::uint64_t syllable = (rest - 1) % 128;
        word += heads[syllable / 8];
        word += beyond_ascii ? accented[syllable % 8] : tails[syllable % 8];
    }
    return word;
}

}  // namespace quern::generator
