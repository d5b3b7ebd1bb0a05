// SPDX-License-Identifier: Apache-2.0
// Readers of one chunk share what they decompress.
#include "io/parquet/parquet_file.hpp"

#include <gtest/gtest.h>

#include "test_folder.hpp"

namespace quern::io::parquet::parquet_file_test {
namespace {

TEST(parquet_file_test, copies_of_a_reader_share_the_dictionary) {
    const auto file = parquet_file::open(test_folder() / "io/parquet/files/snappy_pages.parquet", 1 << 20);
    constexpr std::size_t text = 1;
    column_reader first(file, 0, text);
    column_reader second = first;  // neither has seen a page yet
    ASSERT_NE(first.current_page(), nullptr);
    ASSERT_TRUE(first.current_page()->has_keys());
    column_batch of_first, of_second;
    ASSERT_GT(first.read(of_first, 1), 0U);
    ASSERT_GT(second.read(of_second, 1), 0U);
    ASSERT_FALSE(of_first.texts.empty());
    EXPECT_EQ(of_first.texts.front().data(), of_second.texts.front().data());
}

}  // namespace
}  // namespace quern::io::parquet::parquet_file_test
