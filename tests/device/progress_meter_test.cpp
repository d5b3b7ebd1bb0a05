// SPDX-License-Identifier: Apache-2.0
#include "device/progress_meter.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "quern/base/error.hpp"

namespace quern::progress_meter_test {
namespace {

TEST(progress_meter, tells_the_beginning_and_the_end) {
    context ctx;
    std::vector<progress> reported;
    ctx.on_progress = [&](const progress& now) { reported.push_back(now); };
    progress_meter meter(ctx, "compare", 10, "pairs");
    meter.add(3);
    meter.extend(2);
    meter.add(9);
    meter.finish();
    ASSERT_GE(reported.size(), 2U);
    EXPECT_EQ(reported.front().stage, "compare");
    EXPECT_EQ(reported.front().done, 0U);
    EXPECT_EQ(reported.front().total, 10U);
    EXPECT_EQ(reported.back().done, 12U);
    EXPECT_EQ(reported.back().total, 12U);
    EXPECT_EQ(reported.back().unit, "pairs");
}

TEST(progress_meter, is_called_by_one_thread_at_a_time_and_never_goes_back) {
    context ctx;
    std::uint64_t last = 0;
    bool inside = false;
    ctx.on_progress = [&](const progress& now) {
        EXPECT_FALSE(inside);
        inside = true;
        EXPECT_GE(now.done, last);
        EXPECT_LE(now.done, now.total);
        last = now.done;
        inside = false;
    };
    progress_meter meter(ctx, "compare", 100, "pairs");  // too small, as an estimate may be
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) meter.add(1);
        });
    for (std::thread& t : threads) t.join();
    meter.finish();
    EXPECT_EQ(last, 4000U);
}

TEST(progress_meter, stops_with_the_run) {
    context ctx;
    std::atomic<int> signal{0};
    ctx.stop_signal = &signal;
    progress_meter meter(ctx, "compare", 10, "pairs");
    EXPECT_NO_THROW(meter.add(1));
    signal = 2;
    EXPECT_THROW(meter.add(1), interrupted);
}

}  // namespace
}  // namespace quern::progress_meter_test
