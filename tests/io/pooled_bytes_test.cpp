// SPDX-License-Identifier: Apache-2.0
// Blocks are used again, and what is kept for that is freed before more memory is taken.
#include "io/pooled_bytes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace quern::io::pooled_bytes_test {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(pooled_bytes_test, large_blocks_are_used_again) {
    const auto pool = std::make_shared<buffer_pool>();
    const char* first = nullptr;
    {
        const pooled_bytes made(pool, 4 * mib);
        EXPECT_EQ(made.bytes().size(), 4 * mib);
        first = made.bytes().data();
    }
    EXPECT_EQ(pool->kept(), 4 * mib);
    const pooled_bytes again(pool, 4 * mib - 5);
    EXPECT_EQ(again.bytes().data(), first);
    EXPECT_EQ(again.bytes().size(), 4 * mib - 5);
    EXPECT_EQ(pool->kept(), 0U);
}

TEST(pooled_bytes_test, kept_memory_is_freed_before_more_is_taken) {
    const auto pool = std::make_shared<buffer_pool>();
    pooled_bytes made(pool, 4 * mib);
    made = {};
    EXPECT_EQ(pool->kept(), 4 * mib);
    const pooled_bytes small(pool, 100);
    EXPECT_EQ(pool->kept(), 4 * mib) << "a small one needs nothing of what is kept";
    const pooled_bytes larger(pool, 16 * mib);
    EXPECT_EQ(pool->kept(), 0U);
}

TEST(pooled_bytes_test, a_smaller_one_leaves_what_was_in_use_at_the_same_time) {
    const auto pool = std::make_shared<buffer_pool>();
    { const pooled_bytes first(pool, 8 * mib), second(pool, 8 * mib); }
    EXPECT_EQ(pool->kept(), 16 * mib);
    const pooled_bytes small(pool, 2 * mib);
    EXPECT_EQ(pool->kept(), 8 * mib) << "2 + 16 were never in use, 2 + 8 were";
}

TEST(pooled_bytes_test, what_is_no_longer_needed_is_freed) {
    const auto pool = std::make_shared<buffer_pool>();
    { const pooled_bytes first(pool, 64 * mib), second(pool, 64 * mib); }
    EXPECT_EQ(pool->kept(), 128 * mib);
    for (int i = 0; i < 100; ++i) const pooled_bytes each(pool, 2 * mib);
    EXPECT_LE(pool->kept(), 2 * mib);
}

TEST(pooled_bytes_test, one_without_a_pool_has_memory_of_its_own) {
    pooled_bytes made(nullptr, 2 * mib);
    EXPECT_EQ(made.bytes().size(), 2 * mib);
    made.bytes()[2 * mib - 1] = 'x';
    made = {};
    EXPECT_TRUE(made.bytes().empty());
}

TEST(pooled_bytes_test, a_moved_one_has_one_owner) {
    const auto pool = std::make_shared<buffer_pool>();
    pooled_bytes made(pool, 2 * mib);
    const char* const data = made.bytes().data();
    const pooled_bytes moved(std::move(made));
    EXPECT_EQ(moved.bytes().data(), data);
    // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): empty by contract
    EXPECT_EQ(made.bytes().data(), nullptr);
    EXPECT_EQ(pool->kept(), 0U);
}

}  // namespace
}  // namespace quern::io::pooled_bytes_test
