// SPDX-License-Identifier: Apache-2.0
// Units on several places: every one is made once, used in order, and failures do not depend on the number of places.
#include "device/joined_units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "quern/base/error.hpp"

namespace quern::joined_units_test {
namespace {

/// What was used, and how often a place began; make(unit) is called for every unit.
template <class Make, class Use>
std::size_t join(std::size_t places, std::size_t units, const Make& make, const Use& use,
                 std::size_t ahead = any_number_ahead) {
    std::atomic<std::size_t> begun = 0;
    place_set set(context::cpu(3), cpu_places(places));
    join_units<std::size_t>(
        set, units,
        [&](auto&, cpu_place&, std::size_t index) {
            EXPECT_LT(index, places);
            ++begun;
            return make;
        },
        use, ahead);
    return begun;
}

TEST(join_units, uses_every_unit_once_in_order_on_the_calling_thread) {
    for (const std::size_t places : {1, 2, 3}) {
        for (const std::size_t units : {0, 1, 2, 50}) {
            std::vector<std::size_t> used, expected;
            const auto here = std::this_thread::get_id();
            const std::size_t begun = join(
                places, units, [](std::size_t unit) { return unit * unit; },
                [&](std::size_t result) {
                    EXPECT_EQ(std::this_thread::get_id(), here);
                    used.push_back(result);
                });
            for (std::size_t unit = 0; unit < units; ++unit) expected.push_back(unit * unit);
            EXPECT_EQ(used, expected);
            EXPECT_EQ(begun, places);
        }
    }
}

TEST(join_units, throws_what_the_first_unit_threw) {
    for (const std::size_t places : {1, 2, 3}) {
        std::vector<std::size_t> used;
        try {
            join(
                places, 1000,
                [](std::size_t unit) {
                    if (unit >= 5) throw usage_error("unit " + std::to_string(unit));
                    return unit;
                },
                [&](std::size_t result) { used.push_back(result); });
            FAIL() << "nothing was thrown";
        } catch (const usage_error& e) {
            EXPECT_STREQ(e.what(), "unit 5");
        }
        EXPECT_THAT(used, ::testing::ElementsAre(0, 1, 2, 3, 4));
    }
}

TEST(join_units, makes_few_results_ahead) {
    for (const std::size_t ahead : {1, 2, 7}) {
        std::atomic<std::size_t> made = 0;
        std::size_t used = 0;
        join(
            3, 200, [&](std::size_t unit) { return ++made, unit; },
            [&](std::size_t unit) {
                EXPECT_EQ(unit, used++);
                EXPECT_LE(made, used + ahead);
            },
            ahead);
        EXPECT_EQ(used, 200U);
    }
}

TEST(join_units, stops_when_a_result_cannot_be_used) {
    std::atomic<std::size_t> made = 0;
    EXPECT_THROW(join(
                     3, 1'000'000,
                     [&](std::size_t unit) {
                         ++made;
                         return unit;
                     },
                     [](std::size_t) { throw std::runtime_error("full"); }),
                 std::runtime_error);
    EXPECT_LT(made, 1'000'000U);
}

TEST(join_units, throws_what_a_place_threw_at_its_beginning) {
    place_set set(context::cpu(2), cpu_places(2));
    const auto begin = [](auto&, cpu_place&, std::size_t) {
        throw usage_error("no place");
        return [](std::size_t unit) { return unit; };
    };
    EXPECT_THROW(join_units<std::size_t>(set, 3, begin, [](std::size_t) {}), usage_error);
    // One place of several: units that others have begun are used first.
    std::size_t used = 0;
    const auto second_fails = [](auto&, cpu_place&, std::size_t index) {
        if (index == 1) throw usage_error("no second place");
        return [](std::size_t unit) { return unit; };
    };
    EXPECT_THROW(join_units<std::size_t>(set, 100'000, second_fails,
                                         [&](std::size_t unit) { EXPECT_EQ(unit, used++); }),
                 usage_error);
}

}  // namespace
}  // namespace quern::joined_units_test
