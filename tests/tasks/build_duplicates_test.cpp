// SPDX-License-Identifier: Apache-2.0
// When a build that may choose its device does not wait for a GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tasks/store_build/duplicates.hpp"

namespace quern::build_duplicates_test {
namespace {

bool is_quick(std::uint32_t documents, std::uint64_t bytes_of_each, unsigned threads) {
    document_table table;
    for (std::uint32_t d = 0; d < documents; ++d) table.add(std::to_string(d), bytes_of_each);
    return is_quick_on_cpu(table, threads);
}

TEST(build_duplicates, few_texts_do_not_wait_for_a_gpu) {
    EXPECT_TRUE(is_quick(0, 0, 1));
    EXPECT_TRUE(is_quick(1000, 1000, 1));
    EXPECT_TRUE(is_quick(4598, 21'300, 16));
}

TEST(build_duplicates, long_texts_and_many_pairs_do) {
    EXPECT_FALSE(is_quick(4598, 21'300, 2));
    EXPECT_FALSE(is_quick(100'000, 10, 16));
    EXPECT_FALSE(is_quick(2, std::uint64_t{1} << 32, 64));
}

}  // namespace
}  // namespace quern::build_duplicates_test
