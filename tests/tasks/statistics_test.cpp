// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/statistics.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "tasks/shared/stage_clock.hpp"

namespace quern::statistics_test {
namespace {

TEST(statistics_test, are_json_with_the_members_as_keys) {
    run_statistics statistics;
    statistics.stages = {{.name = "read", .seconds = 0.5, .bytes = 1024}, {.name = "merge", .seconds = 1.25}};
    statistics.counts = {{"documents", 3}, {"skipped: hidden \"file\"", 1}};
    statistics.seconds = 1.75;
    statistics.peak_memory_bytes = std::uint64_t{1} << 40;
    statistics.threads = 2;
    statistics.device = "cpu";
    statistics.device_reason = "asked \xff";  // the record stays readable for any bytes
    const auto json = nlohmann::json::parse(to_json(statistics));
    EXPECT_EQ(json["stages"][0]["name"], "read");
    EXPECT_EQ(json["stages"][0]["bytes"], 1024);
    EXPECT_EQ(json["stages"][1]["seconds"], 1.25);
    EXPECT_EQ(json["counts"]["skipped: hidden \"file\""], 1);
    EXPECT_EQ(json["seconds"], 1.75);
    EXPECT_EQ(json["peak_memory_bytes"], std::uint64_t{1} << 40);
    EXPECT_EQ(json["threads"], 2);
    EXPECT_EQ(json["device"], "cpu");
    EXPECT_EQ(json["device_reason"], "asked \uFFFD");
}

TEST(statistics_test, peak_memory_grows_with_what_is_touched) {
    const std::uint64_t before = peak_memory_bytes();
    constexpr std::size_t size = 64 << 20;
    const auto block = std::make_unique<char[]>(size);
    std::memset(block.get(), 1, size);
    ASSERT_EQ(block[size - 1], 1);
    EXPECT_GE(peak_memory_bytes(), before);
    EXPECT_GE(peak_memory_bytes(), size);
}

TEST(statistics_test, thread_seconds_are_of_the_processor) {
    run_statistics statistics;
    stage_clock clock(statistics);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    clock.end_stage("sleep", 0);
    EXPECT_GE(statistics.stages[0].seconds, 0.05);
    EXPECT_LT(statistics.stages[0].thread_seconds, statistics.stages[0].seconds);
    const double before = process_cpu_seconds();
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([] {
            for (const double end = thread_cpu_seconds() + 0.02; thread_cpu_seconds() < end;) {
            }
        });
    for (std::thread& t : threads) t.join();
    clock.end_stage("work", 0);
    EXPECT_GE(statistics.stages[1].thread_seconds, 0.04);
    EXPECT_LE(statistics.stages[1].thread_seconds, process_cpu_seconds() - before + 0.04);
}

}  // namespace
}  // namespace quern::statistics_test
