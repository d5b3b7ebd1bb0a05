// SPDX-License-Identifier: Apache-2.0
// The cost of each kind of edit; the cheapest way is found.
#include "text/near_words.hpp"

#include <gtest/gtest.h>

namespace quern::text::misspelling_test {
namespace {

TEST(misspelling_test, each_kind_of_edit_has_its_price) {
    EXPECT_EQ(misspelling_cost("castle", "castle"), 0U);
    EXPECT_EQ(misspelling_cost("hasting", "hastings"), 4U);      // deleted
    EXPECT_EQ(misspelling_cost("volcanoe", "volcano"), 4U);      // inserted
    EXPECT_EQ(misspelling_cost("occured", "occurred"), 2U);      // one letter for a double one
    EXPECT_EQ(misspelling_cost("dissappear", "disappear"), 2U);  // a double letter for one
    EXPECT_EQ(misspelling_cost("battel", "battle"), 3U);         // transposed
    EXPECT_EQ(misspelling_cost("seperate", "separate"), 5U);     // replaced
    EXPECT_EQ(misspelling_cost("beijng", "bejing"), 3U);
}

TEST(misspelling_test, the_first_letter_costs_more) {
    EXPECT_EQ(misspelling_cost("hasting", "lasting"), 7U);
    EXPECT_EQ(misspelling_cost("ehat", "heat"), 5U);
    EXPECT_EQ(misspelling_cost("eat", "heat"), 6U);
    EXPECT_EQ(misspelling_cost("heat", "eat"), 6U);
    EXPECT_EQ(misspelling_cost("lama", "llama"), 2U);  // except doubling it
}

TEST(misspelling_test, edits_add_up) {
    EXPECT_EQ(misspelling_cost("acommodatoin", "accommodation"), 5U);  // one letter for two, transposed
    EXPECT_EQ(misspelling_cost("", "ab"), 10U);
    EXPECT_EQ(misspelling_cost("ab", ""), 10U);
    EXPECT_EQ(misspelling_cost("", ""), 0U);
}

TEST(misspelling_test, counts_code_points) {
    EXPECT_EQ(misspelling_cost("cafe", "café"), 5U);
    EXPECT_EQ(misspelling_cost("caéf", "cafe"), 8U);
    EXPECT_EQ(misspelling_cost("caéf", "café"), 3U);
    EXPECT_EQ(misspelling_cost("a\xFF", "a"), 4U);  // ill-formed bytes
}

}  // namespace
}  // namespace quern::text::misspelling_test
