// SPDX-License-Identifier: Apache-2.0
#include "quern/base/excluded.hpp"

#include <gtest/gtest.h>

namespace quern::excluded_test {
namespace {

TEST(excluded, counts_in_words) {
    EXPECT_EQ(excluded_in_words({}), "");
    EXPECT_EQ(excluded_in_words({{"hidden file", 1}, {"hidden folder", 2}, {"link inside the folder", 3}}),
              "1 hidden file; 2 hidden folders; 3 links inside the folder");
    EXPECT_EQ(excluded_in_words({{"link that leads nowhere", 1}}), "1 link that leads nowhere");
    EXPECT_EQ(excluded_in_words({{"link that leads nowhere", 2}}), "2 links that lead nowhere");
    EXPECT_EQ(excluded_in_words({{"page of another namespace", 1234}}), "1,234 pages of another namespace");
}

TEST(excluded, tells_extensions_by_number) {
    EXPECT_EQ(excluded_in_words({{"file: without an extension", 2},
                                 {"file: .a", 1},
                                 {"file: .b", 4},
                                 {"file: .c", 4},
                                 {"hidden file", 5}}),
              "11 files: 4 .b, 4 .c, 2 without an extension, 1 .a; 5 hidden files");
    EXPECT_EQ(excluded_in_words({{"file: .a", 1}}), "1 file: 1 .a");
    EXPECT_EQ(
        excluded_in_words(
            {{"x: 1", 1}, {"x: 2", 1}, {"x: 3", 1}, {"x: 4", 1}, {"x: 5", 1}, {"x: 6", 1}, {"x: 7", 2}}),
        "8 x: 2 7, 1 1, 1 2, 1 3, 1 4, 1 5 …");
    EXPECT_EQ(excluded_in_words({{"x: 1", 2},
                                 {"x: 2", 2},
                                 {"x: 3", 2},
                                 {"x: 4", 2},
                                 {"x: 5", 2},
                                 {"x: 6", 2},
                                 {"x: 7 (why)", 1}}),
              "13 x: 1 7 (why), 2 1, 2 2, 2 3, 2 4, 2 5 …");
}

}  // namespace
}  // namespace quern::excluded_test
