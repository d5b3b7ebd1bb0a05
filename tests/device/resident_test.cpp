// SPDX-License-Identifier: Apache-2.0
// What stays on a place: made on the chosen one, with its place, and told in one text.
#include "device/resident.hpp"
#include "device/resident_set.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "device/array.hpp"
#include "on_each_place.hpp"
#include "several_places.hpp"

namespace quern::resident_test {
namespace {

/// Values on a place.
template <class Place>
class held_values {
  public:
    held_values(Place& place, cpu_place& host, std::span<const std::uint32_t> values)
        : place_(place), host_(host), values_(array_from(place, values)) {}
    held_values(const held_values&) = delete;  // as those that point into themselves
    held_values& operator=(const held_values&) = delete;

    std::vector<std::uint32_t> values() const { return to_host(place_, values_.span()); }
    bool is_on_gpu() const { return std::is_same_v<Place, cuda_place>; }
    bool has_host_of_its_own() const { return static_cast<const void*>(&place_) != &host_; }
    const context& ctx() const { return place_.ctx(); }
    const context& host_ctx() const { return host_.ctx(); }

  private:
    Place& place_;
    cpu_place& host_;
    array_on<Place, std::uint32_t> values_;
};

template <class Tested>
class resident_test : public on_place<Tested> {};
TYPED_TEST_SUITE(resident_test, tested_places, tested_place_names);

TYPED_TEST(resident_test, stays_on_the_chosen_place) {
    constexpr bool on_gpu = std::is_same_v<typename TestFixture::place_type, cuda_place>;
    const std::vector<std::uint32_t> values{3, 1, 4, 1, 5};
    const context ctx = TypeParam::ctx();
    const chosen_device chosen = choose_device(ctx, "this test");
    resident<held_values> held(ctx, chosen, std::span<const std::uint32_t>(values));
    for (int call = 0; call < 2; ++call)
        EXPECT_EQ(held.visit([](const auto& here) { return here.values(); }), values);
    EXPECT_EQ(held.visit([](const auto& here) { return here.is_on_gpu(); }), on_gpu);
    EXPECT_EQ(held.visit([](const auto& here) { return here.has_host_of_its_own(); }), on_gpu);
    EXPECT_EQ(held.where(), chosen.name + ": requested");
}

/// A value of each place: its index, and the number of units that it did.
template <class Place>
class held_count {
  public:
    held_count(Place& place, cpu_place&, std::uint32_t first, std::size_t index)
        : place_(place), index_(index), first_(first) {}
    held_count(const held_count&) = delete;
    held_count& operator=(const held_count&) = delete;

    std::uint32_t value_of(std::size_t unit) {
        ++units_;
        const std::vector<std::uint32_t> values{first_ + static_cast<std::uint32_t>(unit)};
        return to_host(place_, array_from(place_, std::span<const std::uint32_t>(values)).span())[0];
    }
    std::size_t units() const { return units_; }
    std::size_t index() const { return index_; }

  private:
    Place& place_;
    std::size_t index_, units_ = 0;
    std::uint32_t first_;
};

TYPED_TEST(resident_test, a_set_does_every_unit_where_it_is_held) {
    for (const std::size_t places : {1, 2, 3}) {
        chosen_device chosen = choose_device(TypeParam::ctx(), "this test");
        chosen.more = further_places(chosen, places - 1);
        resident_set<held_count> set(TypeParam::ctx(), chosen, std::uint32_t{100});
        ASSERT_EQ(set.size(), places);
        std::vector<std::uint32_t> found(20);
        set.for_each_unit(20, [&](auto& held, std::size_t unit) { found[unit] = held.value_of(unit); });
        for (std::uint32_t unit = 0; unit < 20; ++unit) EXPECT_EQ(found[unit], 100 + unit);
        std::size_t done = 0;
        for (std::size_t i = 0; i < places; ++i)
            done += set.visit(i, [](auto& held) { return held.units(); });
        EXPECT_EQ(done, 20U);
        std::vector<std::size_t> indices(places);
        set.on_each([&](auto& held, std::size_t index) { indices[index] = 1 + held.index(); });
        for (std::size_t i = 0; i < places; ++i) EXPECT_EQ(indices[i], 1 + i);
        EXPECT_EQ(set.where(), chosen.name + ": requested");
    }
}

TYPED_TEST(resident_test, what_it_calls_does_not_choose_again) {
    const chosen_device chosen = choose_device(TypeParam::ctx(), "this test");
    resident<held_values> held(context::best(), chosen, std::span<const std::uint32_t>());
    held.visit([&](const auto& here) {
        for (const context* ctx : {&here.ctx(), &here.host_ctx()}) {
            EXPECT_EQ(ctx->device.where, chosen.cuda ? device_choice::kind::cuda : device_choice::kind::cpu);
            if (chosen.cuda) {
                EXPECT_EQ(ctx->device.ordinal, chosen.ordinal);
            }
        }
    });
}

TEST(any_place, has_a_place_of_the_host_for_work_that_needs_one) {
    any_place here = open_place(context::cpu(3), "this test");
    EXPECT_EQ(here.where(), "cpu: requested");
    EXPECT_TRUE(here.run([](auto& place, cpu_place& host) {
        return static_cast<const void*>(&place) == &host && host.ctx().threads == 3;
    }));
}

}  // namespace
}  // namespace quern::resident_test
