// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/cpu/threads.hpp"

namespace quern::pipeline_test {
namespace {

struct piece {
    int number = 0;
    std::vector<int> squares;
};

std::vector<int> squares_by(unsigned threads, std::size_t slots, int count) {
    context ctx;
    ctx.threads = threads;
    std::vector<int> seen;
    int next = 0;
    std::atomic<int> under_way = 0, max = 0;
    pipeline<piece> line(slots);
    line.from([&](piece& p) {
        EXPECT_TRUE(p.squares.empty()) << "a place is fresh when it is filled";
        p.number = next++;
        if (p.number == count) return false;
        const int now = ++under_way;
        int before = max;
        while (now > before && !max.compare_exchange_weak(before, now)) {
        }
        return true;
    });
    line.in_parallel([](piece& p) { p.squares.push_back(p.number * p.number); });
    line.in_order([&](piece& p) {
        seen.insert(seen.end(), p.squares.begin(), p.squares.end());
        --under_way;
    });
    run_parallel(ctx, [&] { line.run(); });
    EXPECT_LE(max, static_cast<int>(slots));
    return seen;
}

TEST(pipeline_test, keeps_the_order_on_any_number_of_threads_and_places) {
    for (const int count : {0, 1, 7, 1000}) {
        std::vector<int> expected;
        for (int i = 0; i < count; ++i) expected.push_back(i * i);
        for (const unsigned threads : {1U, 2U, 5U}) {
            for (const std::size_t slots : {1, 2, 7}) EXPECT_EQ(squares_by(threads, slots, count), expected);
        }
    }
}

TEST(pipeline_test, one_large_piece_at_a_time_is_done_when_all_before_it_are_done) {
    const auto known_when_filled = [](int number) { return number % 11 == 3; };
    const auto found_large = [](int number) { return number % 7 == 2; };
    for (const unsigned threads : {1U, 2U, 5U}) {
        context ctx;
        ctx.threads = threads;
        std::vector<int> seen;
        int next = 0;
        std::atomic<int> done = 0, large_now = 0;
        pipeline<piece> line(4);
        line.from([&](piece& p) {
            EXPECT_EQ(large_now, 0) << "nothing is begun beside a large piece";
            p.number = next++;
            if (p.number < 500 && known_when_filled(p.number)) ++large_now;
            return p.number < 500;
        });
        line.alone_when([&](const piece& p) { return known_when_filled(p.number); });
        line.in_parallel_or_alone([&](piece& p, bool alone) {
            if (!alone && found_large(p.number)) return false;
            EXPECT_EQ(alone, found_large(p.number) || known_when_filled(p.number)) << p.number;
            if (alone) {
                EXPECT_EQ(done, p.number);
            }
            return true;
        });
        line.in_order([&](piece& p) {
            seen.push_back(p.number);
            if (known_when_filled(p.number)) --large_now;
            ++done;
        });
        run_parallel(ctx, [&] { line.run(); });
        ASSERT_EQ(seen.size(), 500U);
        for (int i = 0; i < 500; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
    }
}

TEST(pipeline_test, the_first_exception_ends_the_run) {
    context ctx;
    ctx.threads = 3;
    int next = 0;
    pipeline<piece> line(4);
    line.from([&](piece& p) {  // without end
        p.number = next++;
        return true;
    });
    line.in_parallel([](piece& p) {
        if (p.number == 50) throw std::runtime_error("fifty");
    });
    EXPECT_THROW(run_parallel(ctx, [&] { line.run(); }), std::runtime_error);
}

TEST(for_each_index_test, calls_every_index_once) {
    for (const unsigned threads : {1U, 2U, 5U}) {
        for (const std::uint64_t count : {0U, 1U, 31U, 4097U}) {
            context ctx;
            ctx.threads = threads;
            std::vector<int> calls(count);
            for_each_index(ctx, count, [&](std::uint64_t i) { ++calls[i]; });
            EXPECT_EQ(calls, std::vector<int>(count, 1)) << threads << " threads, " << count;
        }
    }
}

TEST(for_each_index_test, the_first_exception_ends_it) {
    context ctx;
    ctx.threads = 3;
    std::atomic<int> calls = 0;
    // So that no part of the indices is passed to its end.
    const auto fail_from_seven = [&](std::uint64_t i) {
        ++calls;
        if (i >= 7) throw std::runtime_error("seven");
    };
    EXPECT_THROW(for_each_index(ctx, 1'000'000, fail_from_seven), std::runtime_error);
    EXPECT_LT(calls, 1'000'000);
}

// oneTBB 2021.8 loses workers if arenas come and go: on two threads, all loops after a few hundred others.
TEST(pipeline_test, all_threads_work_after_many_small_loops) {
    context ctx;
    ctx.threads = 2;
    cpu_place place(ctx);
    const auto nothing = [](std::size_t) {};
    for (int i = 0; i < 1000; ++i) {
        for_each_piece(place, 1 + i % 6, [&](std::size_t) {
            if (i % 3 == 0) for_each_piece(place, 3, nothing);
        });
        for_each_index(ctx, i % 8, [](std::uint64_t) {});
    }
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::atomic<int> present = 0;
    for_each_piece(place, 2, [&](std::size_t) {
        ++present;
        while (present < 2 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
    });
    EXPECT_LT(std::chrono::steady_clock::now(), patience) << "no second thread";
}

}  // namespace
}  // namespace quern::pipeline_test
