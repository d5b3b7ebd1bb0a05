// SPDX-License-Identifier: Apache-2.0
// Tasks that run only on the CPU refuse a run that requests CUDA, whoever calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quern/base/error.hpp"
#include "quern/tasks/evaluate.hpp"

namespace quern::device_test {
namespace {

template <class Task>
std::string refusal(const Task& task) {
    try {
        task();
    } catch (const usage_error& e) {
        return e.what();
    }
    return "not refused";
}

TEST(tasks_on_the_cpu_only, refuse_cuda_before_any_work) {
    const context ctx = context::cuda();
    EXPECT_EQ(refusal([&] { evaluate_files("/no/qrels", "/no/run", ctx); }), "evaluate runs on cpu only");
}

}  // namespace
}  // namespace quern::device_test
