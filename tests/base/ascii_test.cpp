// SPDX-License-Identifier: Apache-2.0
#include "base/ascii.hpp"

#include <gtest/gtest.h>

namespace quern::ascii_test {
namespace {

TEST(ascii_test, trims_blanks_at_both_sides) {
    EXPECT_EQ(trimmed(" \t\n\v\f\ra b \r\n"), "a b");
    EXPECT_EQ(trimmed("a"), "a");
    EXPECT_EQ(trimmed(" \n"), "");
    EXPECT_EQ(trimmed(""), "");
    EXPECT_EQ(trimmed("\u00A0a"), "\u00A0a");
}

TEST(ascii_test, lowers_letters_alone) {
    EXPECT_EQ(lower("AZ[@`az\u00C4"), "az[@`az\u00C4");
}

TEST(ascii_test, knows_blanks) {
    std::string blanks, html;
    for (int c = 0; c < 256; ++c) {
        if (is_space(static_cast<char>(c))) blanks += static_cast<char>(c);
        if (is_html_space(static_cast<char>(c))) html += static_cast<char>(c);
    }
    EXPECT_EQ(blanks, "\t\n\v\f\r ");
    EXPECT_EQ(html, "\t\n\f\r ");
}

TEST(ascii_test, file_names_follow_the_last_slash) {
    EXPECT_EQ(file_name("a/b.c"), "b.c");
    EXPECT_EQ(file_name("b.c"), "b.c");
    EXPECT_EQ(file_name("a/"), "");
}

}  // namespace
}  // namespace quern::ascii_test
