// SPDX-License-Identifier: Apache-2.0
#include "io/lines/line_ends.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace quern::io::line_ends_test {
namespace {

std::uint64_t slowly(std::string_view text) {
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(line_ends_test, texts_of_every_length_and_place_are_counted) {
    std::string text(400, 'a');
    for (std::size_t i = 0; i < text.size(); i += 1 + i % 7) text[i] = '\n';
    for (std::size_t begin = 0; begin < 40; ++begin) {
        for (std::size_t size = 0; begin + size <= text.size(); ++size) {
            const std::string_view part = std::string_view(text).substr(begin, size);
            ASSERT_EQ(count_line_ends(part), slowly(part)) << begin << " " << size;
        }
    }
}

TEST(line_ends_test, counts_beyond_a_byte_do_not_overflow) {
    constexpr std::size_t rounds = 255, lanes = 32;
    for (const std::size_t size :
         {rounds * lanes - 1, rounds * lanes, rounds * lanes + 1, 3 * rounds * lanes + 5})
        EXPECT_EQ(count_line_ends(std::string(size, '\n')), size);
}

TEST(line_ends_test, only_line_feeds_are_counted) {
    std::string text;
    for (int c = 0; c < 256; ++c) text += static_cast<char>(c);
    EXPECT_EQ(count_line_ends(text), 1U);
    EXPECT_EQ(count_line_ends({}), 0U);
}

}  // namespace
}  // namespace quern::io::line_ends_test
