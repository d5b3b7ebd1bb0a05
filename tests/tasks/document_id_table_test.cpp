// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/document_id_table.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "temporary_folder.hpp"

namespace quern::document_id_table_test {
namespace {

void expect_finds_what_was_entered(id_table& table) {
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

TEST(id_table_test, finds_what_was_entered_and_refuses_repeats) {
    id_table table;
    expect_finds_what_was_entered(table);
    EXPECT_GE(table.memory_bytes(), 20 * table.size());
}

TEST(id_table_test, spills_what_does_not_fit) {
    const quern::testing::temporary_folder folder;
    context ctx = context::cpu(1);
    ctx.scratch = folder.path();
    {
        id_table table(ctx, 100'000);
        expect_finds_what_was_entered(table);
        EXPECT_LE(table.memory_bytes(), 100'000U);
        id_table moved = std::move(table);
        EXPECT_EQ(moved.find(hash128("19999")), 19'999U);
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace quern::document_id_table_test
