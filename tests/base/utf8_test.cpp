// SPDX-License-Identifier: Apache-2.0
// UTF-8 against ICU's decoder: every code point, and every string of up to four relevant bytes.
#include "base/utf8.hpp"

#include <gtest/gtest.h>
#include <unicode/utf8.h>

#include <cstdint>

namespace quern::utf8_test {
namespace {

TEST(utf8_test, every_character_comes_back) {
    for (char32_t point = 0; point <= 0x10FFFF; ++point) {
        if (point >= 0xD800 && point < 0xE000) continue;
        std::string bytes;
        append_utf8(point, bytes);
        ASSERT_EQ(bytes.size(), static_cast<std::size_t>(U8_LENGTH(point)));
        std::size_t at = 0;
        ASSERT_EQ(next_utf8(bytes, at), point);
        ASSERT_EQ(at, bytes.size());
    }
}

TEST(utf8_test, ill_formed_bytes_end_where_icu_ends_them) {
    // The edges of every range of table 3-7.
    constexpr std::uint8_t edges[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                      0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
                                      0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
    constexpr std::size_t count = sizeof edges;
    for (std::size_t length = 1; length <= 4; ++length) {
        std::size_t cases = 1;
        for (std::size_t i = 0; i < length; ++i) cases *= count;
        for (std::size_t number = 0; number < cases; ++number) {
            std::uint8_t bytes[4] = {};
            std::size_t rest = number;
            for (std::size_t i = 0; i < length; ++i, rest /= count) bytes[i] = edges[rest % count];
            const std::string_view text(reinterpret_cast<const char*>(bytes), length);
            std::size_t at = 0;
            const char32_t got = next_utf8(text, at);
            std::int32_t end = 0;
            UChar32 expected = 0;
            U8_NEXT(bytes, end, static_cast<std::int32_t>(length), expected);
            ASSERT_EQ(got, expected < 0 ? ill_formed : static_cast<char32_t>(expected)) << number;
            ASSERT_EQ(at, static_cast<std::size_t>(end)) << number;
        }
    }
}

}  // namespace
}  // namespace quern::utf8_test
