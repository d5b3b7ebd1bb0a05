// SPDX-License-Identifier: Apache-2.0
// The CPU place's memory: blocks are reused, and never block the budget.
#include "device/cpu/memory_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/base/error.hpp"

namespace quern::memory_pool_test {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(memory_pool_test, large_blocks_come_back_where_the_size_is_about_the_same) {
    memory_pool pool;
    void* const first = pool.allocate(10 * mib, ~std::uint64_t{0});
    std::memset(first, 1, 10 * mib);
    pool.release(first, 10 * mib);
    void* const again = pool.allocate(10 * mib - 5, ~std::uint64_t{0});
    EXPECT_EQ(again, first);
    void* const other = pool.allocate(20 * mib, ~std::uint64_t{0});
    EXPECT_NE(other, first);
    pool.release(again, 10 * mib - 5);
    pool.release(other, 20 * mib);
}

TEST(memory_pool_test, blocks_of_every_size_can_be_written_to_the_end_and_are_aligned) {
    memory_pool pool;
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, mib - 1, mib, mib + 1, 2 * mib - 1,
                                    2 * mib, 2 * mib + 1, 3 * mib + 77}) {
        for (int time = 0; time < 3; ++time) {
            void* const memory = pool.allocate(bytes, ~std::uint64_t{0});
            ASSERT_NE(memory, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
            std::memset(memory, time, bytes);
            pool.release(memory, bytes);
        }
    }
}

TEST(memory_pool_test, keeps_no_more_than_it_may) {
    memory_pool pool;
    void* const large = pool.allocate(64 * mib, 0);
    pool.release(large, 64 * mib);
    pool.release(pool.allocate(mib, 0), mib);  // frees the large one
    void* const next = pool.allocate(64 * mib, ~std::uint64_t{0});
    ASSERT_NE(next, nullptr);
    std::memset(next, 1, 64 * mib);
    pool.release(next, 64 * mib);
}

TEST(cpu_place_test, what_is_kept_counts_against_nobody) {
    context ctx = context::cpu(1);
    ctx.memory_bytes = 8 * mib;
    cpu_place place(ctx);
    for (int time = 0; time < 5; ++time) {
        const cpu_array<char> max(place, 7 * mib);
        EXPECT_EQ(place.memory().used(), 7 * mib);
        EXPECT_THROW(cpu_array<char>(place, 2 * mib), out_of_memory);
    }
    const cpu_array<char> some(place, 3 * mib), more(place, 5 * mib);
    EXPECT_EQ(place.memory().left(), 0u);
}

TEST(cpu_place_test, small_arrays_need_the_room_of_what_is_kept) {
    context ctx = context::cpu(1);
    ctx.memory_bytes = 8 * mib;
    cpu_place place(ctx);
    { const cpu_array<char> large(place, 7 * mib); }
    EXPECT_EQ(place.kept(), 7 * mib);
    std::vector<cpu_array<char>> small;
    for (int i = 0; i < 7; ++i) {
        small.emplace_back(place, mib - 1);
        EXPECT_LE(place.memory().used() + place.kept(), 8 * mib);
    }
    EXPECT_EQ(place.kept(), 0u);
}

TEST(cpu_place_test, threads_take_memory_at_once) {
    cpu_place place(context::cpu(4));
    for_each_piece(place, 200, [&](std::size_t p) {
        const cpu_array<std::size_t> mine(place, (p % 5 + 1) * mib / sizeof(std::size_t));
        mine.data()[0] = mine.data()[mine.size() - 1] = p;
        EXPECT_EQ(mine.data()[0], p);
    });
    EXPECT_EQ(place.memory().used(), 0u);
}

}  // namespace
}  // namespace quern::memory_pool_test
