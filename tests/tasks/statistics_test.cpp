// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/statistics.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

namespace quern {
namespace {

TEST(Statistics, AreJsonWithTheMembersAsKeys) {
    run_statistics statistics;
    statistics.stages = {{.name = "read", .seconds = 0.5, .bytes = 1024}, {.name = "merge", .seconds = 1.25}};
    statistics.counts = {{"documents", 3}, {"skipped: hidden \"file\"", 1}};
    statistics.seconds = 1.75;
    statistics.peak_memory_bytes = std::uint64_t{1} << 40;
    statistics.threads = 2;
    statistics.device = "cpu";
    statistics.device_reason = "asked \xff";  // whatever it is, the record stays readable
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

TEST(Statistics, PeakMemoryGrowsWithWhatIsTouched) {
    const std::uint64_t before = peak_memory_bytes();
    constexpr std::size_t size = 64 << 20;
    const auto block = std::make_unique<char[]>(size);
    std::memset(block.get(), 1, size);
    ASSERT_EQ(block[size - 1], 1);
    EXPECT_GE(peak_memory_bytes(), before);
    EXPECT_GE(peak_memory_bytes(), size);
}

}  // namespace
}  // namespace quern
