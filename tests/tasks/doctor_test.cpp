// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "quern/base/threads_within.hpp"

namespace quern::doctor_test {
namespace {

finding found(const std::vector<finding>& all, std::string_view subject) {
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const finding& f) { return f.subject == subject; });
    return it == all.end() ? finding{} : *it;
}

TEST(doctor_test, fills_every_finding) {
    const auto all = doctor({});
    for (const finding& f : all) {
        EXPECT_FALSE(f.subject.empty());
        EXPECT_FALSE(f.value.empty()) << f.subject;
        EXPECT_FALSE(f.note.empty()) << f.subject;
    }
    for (const auto* subject : {"processor", "cores", "memory limit", "scratch space", "store format"}) {
        EXPECT_FALSE(found(all, subject).value.empty()) << subject;
    }
    EXPECT_EQ(found(all, "operation search").value, "exact");
}

TEST(doctor_test, shows_what_the_options_mean) {
    context ctx;
    ctx.threads = 3;
    ctx.memory_bytes = std::uint64_t{3} << 29;
    const auto all = doctor(ctx);
    EXPECT_EQ(found(all, "threads").value, "3");
    EXPECT_EQ(found(all, "threads").note, "set by --threads");
    EXPECT_EQ(found(all, "memory budget").value, "1.5 GiB");
}

TEST(doctor_test, says_that_memory_limits_the_threads) {
    context ctx;
    ctx.threads = 64;
    ctx.memory_bytes = std::uint64_t{24} << 20;
    const finding threads = found(doctor(with_threads_within_memory(ctx)), "threads");
    EXPECT_EQ(threads.value, "3");
    EXPECT_EQ(threads.note, "as many as the memory budget has room for");
}

TEST(doctor_test, two_threads_fit_into_any_budget) {
    context ctx;
    ctx.memory_bytes = 1;
    for (const auto& [wanted, used] : {std::pair(1u, 1u), {2u, 2u}, {3u, 2u}, {4096u, 2u}}) {
        ctx.threads = wanted;
        EXPECT_EQ(with_threads_within_memory(ctx).threads, used);
    }
    ctx.memory_bytes = std::uint64_t{1} << 50;
    ctx.threads = 4096;
    EXPECT_EQ(with_threads_within_memory(ctx).threads, 4096u);
}

TEST(doctor_test, says_that_a_scratch_folder_is_missing) {
    context ctx;
    ctx.scratch = "/no/such/folder";
    EXPECT_THAT(found(doctor(ctx), "scratch folder").note, ::testing::HasSubstr("not a folder"));
}

TEST(doctor_test, says_whether_there_is_a_gpu_and_what_operations_would_take) {
    const auto all = doctor({});
    EXPECT_TRUE(found(all, "CUDA").value == "none" || !found(all, "CUDA driver").value.empty());
    const bool usable = found(all, "GPU cuda:0").note.starts_with("usable");
    EXPECT_EQ(found(all, "device").value, usable ? "cuda:0" : "cpu");
    EXPECT_EQ(found(all, "GPU memory cuda:0").value.empty(), !usable);
    EXPECT_THAT(found(all, "primitives").value, ::testing::StartsWith("cpu"));
    EXPECT_EQ(found(doctor(context::cpu()), "device").value, "cpu");
    const finding refused = found(doctor(context::cuda(1000)), "device");
    EXPECT_EQ(refused.value, "none");
    EXPECT_THAT(refused.note, ::testing::HasSubstr("was requested, but"));
}

}  // namespace
}  // namespace quern::doctor_test
