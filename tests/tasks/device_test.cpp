// SPDX-License-Identifier: Apache-2.0
// Tasks that run on the CPU only do not take a run that asks for CUDA, whoever calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/evaluate.hpp"
#include "quern/tasks/search.hpp"

namespace quern {
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
    const context run = context::cuda();
    build_options options;
    options.inputs = {"/no/such/corpus"};
    options.store = std::filesystem::temp_directory_path() / "no-such-store";
    EXPECT_EQ(refusal([&] { build(options, run); }), "build runs on cpu only");
    EXPECT_FALSE(std::filesystem::exists(options.store));
    EXPECT_EQ(refusal([&] { search_engine::open("/no/such/store", run); }), "search runs on cpu only");
    EXPECT_EQ(refusal([&] { evaluate_files("/no/qrels", "/no/run", run); }), "evaluate runs on cpu only");
}

}  // namespace
}  // namespace quern
