// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/document_id_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quern {
namespace {

TEST(id_table_test, finds_what_was_entered_and_refuses_repeats) {
    id_table table;
    for (std::uint32_t i = 0; i < 20'000; ++i) ASSERT_TRUE(table.insert(std::to_string(i), i));
    EXPECT_EQ(table.size(), 20'000U);
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        ASSERT_FALSE(table.insert(std::to_string(i), 7));
        ASSERT_EQ(table.find(hash128(std::to_string(i))), i);
    }
    EXPECT_EQ(table.find(hash128("20000")), std::nullopt);
    EXPECT_EQ(table.find(hash128("")), std::nullopt);
    EXPECT_TRUE(table.insert("", 0));
    EXPECT_EQ(table.find(hash128("")), 0U);
}

}  // namespace
}  // namespace quern
