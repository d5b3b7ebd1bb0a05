// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "device/cpu/threads.hpp"

namespace quern {
namespace {

struct piece {
    int number = 0;
    std::vector<int> squares;
};

std::vector<int> squares_by(unsigned threads, std::size_t places, int count) {
    context run;
    run.threads = threads;
    std::vector<int> seen;
    int next = 0;
    std::atomic<int> under_way = 0, most = 0;
    pipeline<piece> line(places);
    line.from([&](piece& p) {
        EXPECT_TRUE(p.squares.empty()) << "a place is fresh when it is filled";
        p.number = next++;
        if (p.number == count) return false;
        const int now = ++under_way;
        int before = most;
        while (now > before && !most.compare_exchange_weak(before, now)) {
        }
        return true;
    });
    line.in_parallel([](piece& p) { p.squares.push_back(p.number * p.number); });
    line.in_order([&](piece& p) {
        seen.insert(seen.end(), p.squares.begin(), p.squares.end());
        --under_way;
    });
    run_parallel(run, [&] { line.run(); });
    EXPECT_LE(most, static_cast<int>(places));
    return seen;
}

TEST(Pipeline, KeepsTheOrderOnAnyNumberOfThreadsAndPlaces) {
    for (const int count : {0, 1, 7, 1000}) {
        std::vector<int> expected;
        for (int i = 0; i < count; ++i) expected.push_back(i * i);
        for (const unsigned threads : {1U, 2U, 5U}) {
            for (const std::size_t places : {1, 2, 7})
                EXPECT_EQ(squares_by(threads, places, count), expected);
        }
    }
}

TEST(Pipeline, TheFirstExceptionEndsTheRun) {
    context run;
    run.threads = 3;
    int next = 0;
    pipeline<piece> line(4);
    line.from([&](piece& p) {
        p.number = next++;
        return p.number < 100'000;
    });
    line.in_parallel([](piece& p) {
        if (p.number == 50) throw std::runtime_error("fifty");
    });
    EXPECT_THROW(run_parallel(run, [&] { line.run(); }), std::runtime_error);
    EXPECT_LT(next, 100'000);
}

TEST(ForEachIndex, CallsEveryIndexOnce) {
    for (const unsigned threads : {1U, 2U, 5U}) {
        for (const std::uint64_t count : {0U, 1U, 31U, 4097U}) {
            context run;
            run.threads = threads;
            std::vector<int> calls(count);
            for_each_index(run, count, [&](std::uint64_t i) { ++calls[i]; });
            EXPECT_EQ(calls, std::vector<int>(count, 1)) << threads << " threads, " << count;
        }
    }
}

TEST(ForEachIndex, TheFirstExceptionEndsIt) {
    context run;
    run.threads = 3;
    std::atomic<int> calls = 0;
    const auto fail_at_seven = [&](std::uint64_t i) {
        ++calls;
        if (i == 7) throw std::runtime_error("seven");
    };
    EXPECT_THROW(for_each_index(run, 1'000'000, fail_at_seven), std::runtime_error);
    EXPECT_LT(calls, 1'000'000);
}

}  // namespace
}  // namespace quern
