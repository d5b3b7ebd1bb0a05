// SPDX-License-Identifier: Apache-2.0
#include "base/function_ref.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace quern::function_ref_test {
namespace {

int applied(function_ref<int(int)> f, int x) {
    return f(x);
}

TEST(function_ref, calls_the_callable_itself) {
    int calls = 0;
    const auto count = [&calls](int x) { return ++calls, x + 1; };
    EXPECT_EQ(applied(count, 2), 3);
    EXPECT_EQ(applied(count, 3), 4);
    EXPECT_EQ(calls, 2);
}

TEST(function_ref, a_state_that_changes_is_the_callers) {
    auto sum = [total = 0](int x) mutable { return total += x; };
    const function_ref<int(int)> f = sum;
    f(2);
    const function_ref<int(int)> copy = f;
    copy(3);
    EXPECT_EQ(sum(0), 5);
}

TEST(function_ref, arguments_move_and_results_may_be_ignored) {
    std::string taken;
    const auto take = [&taken](std::unique_ptr<std::string> text) { return taken = *text, 1; };
    const function_ref<void(std::unique_ptr<std::string>)> f = take;
    f(std::make_unique<std::string>("moved"));
    EXPECT_EQ(taken, "moved");
}

TEST(function_ref, a_result_can_be_a_reference) {
    int value = 1;
    const auto reach = [&value]() -> int& { return value; };
    const function_ref<int&()> f = reach;
    f() = 7;
    EXPECT_EQ(value, 7);
}

}  // namespace
}  // namespace quern::function_ref_test
