// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/fault.hpp"
#include "device/memory_budget.hpp"
#include "quern/base/error.hpp"

namespace quern::budget_and_fault_test {
namespace {

TEST(memory_budget, counts_what_is_taken_and_given_back) {
    memory_budget budget(100);
    budget.take(60, "a list");
    budget.take(40, "a list");
    EXPECT_EQ(budget.left(), 0u);
    budget.take(0, "nothing");
    budget.give_back(70);
    EXPECT_EQ(budget.used(), 30u);
    EXPECT_EQ(budget.left(), 70u);
    EXPECT_EQ(budget.peak(), 100u);
    EXPECT_EQ(budget.limit(), 100u);
}

TEST(memory_budget, refuses_with_what_was_requested_and_what_is_left) {
    memory_budget budget(100);
    budget.take(30, "a list");
    const std::pair<std::uint64_t, std::string> cases[] = {
        {71, "71 bytes of memory; 70 are free"},
        {(1 << 20) - 1, "1048575 bytes of memory; 70 are free"},
        {1 << 20, "1 MiB of memory; 70 bytes are free"},
        {(1 << 20) + 1, "1.1 MiB of memory; 70 bytes are free"},  // the amount named suffices
        {std::uint64_t{3} << 29, "1.5 GiB of memory; 70 bytes are free"},
        {std::numeric_limits<std::uint64_t>::max(), "17179869184 GiB of memory; 70 bytes are free"},
    };
    for (const auto& [requested, said] : cases) {
        try {
            budget.take(requested, "the second list");
            FAIL() << requested;
        } catch (const out_of_memory& e) {
            EXPECT_EQ(e.what(), "the second list needs " + said);
        }
    }
    EXPECT_EQ(budget.used(), 30u);
    EXPECT_EQ(budget.peak(), 30u);
}

TEST(memory_budget, never_gives_out_more_than_it_has_to_many_threads) {
    constexpr std::uint64_t limit = 1000;
    memory_budget budget(limit);
    std::atomic<std::uint64_t> held{0}, refused{0};
    std::atomic<bool> exceeded{false};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < 20'000; ++i) {
                const std::uint64_t bytes = (t * 7919 + i * 104729) % 400;
                try {
                    budget.take(bytes, "a piece");
                } catch (const out_of_memory&) {
                    ++refused;
                    continue;
                }
                if (held.fetch_add(bytes) + bytes > limit) exceeded = true;
                held.fetch_sub(bytes);
                budget.give_back(bytes);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_FALSE(exceeded);
    EXPECT_EQ(budget.used(), 0u);
    EXPECT_LE(budget.peak(), limit);
    EXPECT_GE(budget.peak(), 399u);
}

std::string words_of(fault kind, std::uint64_t position) {
    try {
        throw_packed_fault(packed_fault(kind, position));
        return "nothing thrown";
    } catch (const invalid_value& e) {
        EXPECT_EQ(e.position(), position);
        return e.what();
    }
}

TEST(fault, says_what_is_wrong_and_where) {
    EXPECT_EQ(words_of(fault::key_not_a_number, 0), "key 0 is not a number");
    EXPECT_EQ(words_of(fault::sample_out_of_range, 12), "sample 12 has no bin");
    constexpr std::uint64_t last = (std::uint64_t{1} << 56) - 1;
    EXPECT_EQ(words_of(fault::offsets_not_rising, last),
              "the offsets do not rise from 0 to the number of items: see segment " + std::to_string(last));
}

TEST(fault, none_is_none) {
    EXPECT_NO_THROW(throw_packed_fault(no_fault));
    EXPECT_THROW(throw_packed_fault(no_fault - 1), device_error);  // no kind has this number
}

TEST(fault, the_least_is_the_first_of_its_kind_and_offsets_come_before_values) {
    EXPECT_LT(packed_fault(fault::key_not_a_number, 5), packed_fault(fault::key_not_a_number, 6));
    EXPECT_LT(packed_fault(fault::offsets_not_rising, 1 << 30), packed_fault(fault::key_not_a_number, 0));
    EXPECT_LT(packed_fault(fault::sample_out_of_range, (std::uint64_t{1} << 56) - 1), no_fault);
}

}  // namespace
}  // namespace quern::budget_and_fault_test
