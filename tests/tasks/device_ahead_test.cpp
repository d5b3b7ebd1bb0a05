// SPDX-License-Identifier: Apache-2.0
#include "tasks/shared/device_ahead.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "quern/base/error.hpp"

namespace quern::device_ahead_test {
namespace {

using ::testing::ElementsAre;

TEST(device_ahead, reads_on_the_cpu_with_the_memory_fixed_and_then_has_the_device) {
    context requested;
    requested.memory_bytes = 0;
    std::vector<std::string> stages;
    requested.on_progress = [&](const progress& now) { stages.emplace_back(now.stage); };
    const chosen_device chosen = choose_device(requested, "sorting");
    device_ahead ahead(requested, "sorting");
    EXPECT_EQ(ahead.reading().device, context::cpu().device);
    EXPECT_EQ(ahead.reading().memory_bytes, requested.memory_limit());
    ahead.reading().report({"read", 1, 2, "bytes"});

    run_statistics statistics;
    const context pinned = ahead.pinned(statistics);
    EXPECT_EQ(pinned.device, choice_of(chosen));
    EXPECT_EQ(pinned.memory_bytes, requested.memory_limit());
    EXPECT_EQ(statistics.device, chosen.name);
    EXPECT_EQ(statistics.device_reason, chosen.reason);
    pinned.report({"compare", 1, 2, "bytes"});
    EXPECT_THAT(stages, ElementsAre("read", "compare"));
}

TEST(device_ahead, refuses_at_once_what_runs_on_the_cpu_only) {
    EXPECT_THROW(device_ahead(context::cuda(), "sorting", offered_places::cpu_only), usage_error);
}

TEST(device_ahead, knows_whether_a_device_is_requested) {
    EXPECT_TRUE(device_ahead(context::best(), "sorting").is_automatic());
    EXPECT_FALSE(device_ahead(context::cpu(), "sorting").is_automatic());
}

TEST(device_ahead, the_context_for_reading_may_stay_longer) {
    context kept;
    {
        const device_ahead ahead(context::best(), "sorting");
        kept = ahead.reading();
    }
    EXPECT_NO_THROW(kept.report({"read", 1, 2, "bytes"}));
}

}  // namespace
}  // namespace quern::device_ahead_test
