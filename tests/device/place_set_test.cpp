// SPDX-License-Identifier: Apache-2.0
// Several places: every unit is done once, failures do not depend on the number of places, shares are equal.
#include "device/place_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "several_places.hpp"

namespace quern::place_set_test {
namespace {

/// Sets of one to three places: of the CPU, and of the first GPU several times.
template <class Tested>
class place_set_test : public on_place<Tested> {
  protected:
    static std::vector<chosen_device> choices() {
        std::vector<chosen_device> all;
        for (const std::size_t count : {1, 2, 3}) {
            chosen_device one = choose_device(Tested::ctx(), "this test");
            one.more = further_places(one, count - 1);
            all.push_back(one);
        }
        return all;
    }
};
TYPED_TEST_SUITE(place_set_test, tested_places, tested_place_names);

TYPED_TEST(place_set_test, does_every_unit_once) {
    for (const chosen_device& chosen : this->choices()) {
        place_set places(TypeParam::ctx(), chosen);
        EXPECT_EQ(places.size(), 1 + chosen.more.size());
        for (const std::size_t units : {0, 1, 2, 17}) {
            std::vector<std::vector<std::uint32_t>> results(units);
            places.for_each_unit(units, [&](auto& place, cpu_place&, std::size_t unit) {
                const std::vector<std::uint32_t> values(unit, static_cast<std::uint32_t>(unit));
                const auto there = array_from(place, std::span<const std::uint32_t>(values));
                for (const std::uint32_t value : to_host(place, there.span())) results[unit].push_back(value);
            });
            for (std::size_t unit = 0; unit < units; ++unit)
                EXPECT_EQ(results[unit], std::vector(unit, static_cast<std::uint32_t>(unit)));
        }
    }
}

TYPED_TEST(place_set_test, throws_what_the_first_unit_threw) {
    for (const chosen_device& chosen : this->choices()) {
        place_set places(TypeParam::ctx(), chosen);
        std::atomic<std::size_t> begun = 0;
        try {
            places.for_each_unit(1000, [&](auto&, cpu_place&, std::size_t unit) {
                ++begun;
                if (unit >= 5) throw usage_error("unit " + std::to_string(unit));
            });
            FAIL() << "nothing was thrown";
        } catch (const usage_error& e) {
            EXPECT_STREQ(e.what(), "unit 5");
        }
        EXPECT_LT(begun, 1000U);
        std::size_t done = 0;  // the places are usable afterwards
        places.on_each([&](auto&, cpu_place&, std::size_t index) { done += index == 0 ? 1 : 0; });
        EXPECT_EQ(done, 1U);
    }
}

TEST(place_set, gives_equal_shares_and_calls_one_listener_at_a_time) {
    context ctx = context::cpu(6);
    ctx.memory_bytes = 3'000'000;
    std::atomic<int> inside = 0;
    std::uint64_t calls = 0;
    ctx.on_progress = [&](const progress& now) {
        EXPECT_EQ(++inside, 1);
        calls += now.done;
        --inside;
    };
    place_set places(ctx, cpu_places(3));
    std::vector<std::size_t> indices(3);
    places.on_each([&](auto& place, cpu_place& host, std::size_t index) {
        indices[index] = index;
        EXPECT_EQ(host.threads(), 2U);
        EXPECT_EQ(host.memory().limit(), 1'000'000U);
        for (int i = 0; i < 1000; ++i) place.ctx().report({"testing", 1, 0, "calls"});
    });
    EXPECT_EQ(calls, 3000U);
    EXPECT_THAT(indices, ::testing::ElementsAre(0, 1, 2));
    EXPECT_EQ(places.where(), "cpu: requested");
}

}  // namespace
}  // namespace quern::place_set_test
