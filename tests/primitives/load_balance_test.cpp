// SPDX-License-Identifier: Apache-2.0
#include "primitives/load_balance/load_balance.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <limits>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "primitives/segment_shapes.hpp"
#include "quern/base/error.hpp"
#include "reference/load_balance_reference.hpp"

namespace quern::primitives {

void PrintTo(const merge_path_point& point, std::ostream* out) {
    *out << "segment " << point.segment << " item " << point.item;
}

}  // namespace quern::primitives

namespace quern::load_balance_test {
namespace {

using primitives::merge_path_point;

template <class Tested>
class load_balance_test : public on_place<Tested> {
  protected:
    template <class Segment>
    void expect_search(std::size_t items, const segment_shape& shape) {
        const auto segments = this->template output<Segment>(items);
        primitives::load_balancing_search(this->place(), this->array(shape.offsets).view(), segments.span());
        EXPECT_EQ(segments.host(), reference::load_balancing_search<Segment>(shape.offsets))
            << items << " items, " << shape.name;
    }

    void expect_partitions(const segment_shape& shape, const std::vector<std::size_t>& all_pieces) {
        const auto path = reference::merge_path(shape.offsets);
        for (const std::size_t pieces : all_pieces) {
            const auto points = this->template output<merge_path_point>(pieces + 1);
            primitives::merge_path_partition(this->place(), this->array(shape.offsets).view(), points.span());
            EXPECT_EQ(points.host(), reference::merge_path_partition(path, pieces))
                << pieces << " pieces, " << shape.name;
        }
    }

    void expect_references(std::size_t items) {
        for (const auto& shape : segment_shapes(items)) {
            expect_search<std::uint32_t>(items, shape);
            expect_search<std::uint64_t>(items, shape);
            expect_partitions(shape, {1, 2, 7, 64, 1000});
        }
    }
};
TYPED_TEST_SUITE(load_balance_test, tested_places, tested_place_names);

TYPED_TEST(load_balance_test, matches_reference) {
    for (const std::size_t n : test_sizes()) this->expect_references(n);
    // A piece for every step of the path, and more pieces than steps.
    for (const auto& shape : segment_shapes(257)) {
        const std::size_t steps = 257 + shape.offsets.size() - 1;
        this->expect_partitions(shape, {steps - 1, steps, 3 * steps});
    }
}

TYPED_TEST(load_balance_test, every_instruction_set_gives_the_same) {
    if (!std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of the CPU";
    on_every_target([&] {
        for (const std::size_t n : {0u, 1u, 7u, 33u, 1025u, 40'009u}) this->expect_references(n);
    });
}

// Offsets up to 2⁴⁰, whose items need not exist.
TYPED_TEST(load_balance_test, partitions_more_items_than_32_bits_count) {
    constexpr std::uint64_t many = std::uint64_t{1} << 40;
    const auto points = this->template output<merge_path_point>(5);
    primitives::merge_path_partition(
        this->place(), this->array(std::vector<std::uint64_t>{0, 5, many - 4, many - 4, many - 4}).view(),
        points.span());
    EXPECT_EQ(points.host(),
              (std::vector<merge_path_point>{
                  {0, 0}, {1, many / 4 - 1}, {1, many / 2 - 1}, {1, many / 4 * 3 - 1}, {4, many - 4}}));
}

TYPED_TEST(load_balance_test, partitions_all_that_64_bits_count_and_refuses_one_more) {
    constexpr std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
    const auto points = this->template output<merge_path_point>(4);
    const auto partition = [&](const std::vector<std::uint64_t>& offsets) {
        primitives::merge_path_partition(this->place(), this->array(offsets).view(), points.span());
        this->place().synchronise();
    };
    partition({0, 6, max - 2});  // 2⁶⁴ − 1 is three times 0x5555…
    EXPECT_EQ(points.host(),
              (std::vector<merge_path_point>{{0, 0}, {1, max / 3 - 1}, {1, max / 3 * 2 - 1}, {2, max - 2}}));
    const auto refused = [](std::uint64_t segment) {
        return ::testing::Throws<invalid_value>(::testing::Property(&invalid_value::position, segment));
    };
    EXPECT_THAT([&] { partition({0, 6, max - 1}); }, refused(1));
    EXPECT_THAT([&] { partition({0, 6, max}); }, refused(1));
    EXPECT_THAT([&] { partition({0, max}); }, refused(0));
    EXPECT_THAT([&] { partition({0, 6, 5, max}); }, refused(1));  // the first invalid one
}

TYPED_TEST(load_balance_test, refuses_wrong_sizes_and_segments) {
    auto& place = this->place();
    const auto refused = [](std::uint64_t segment) {
        return ::testing::Throws<invalid_value>(::testing::Property(&invalid_value::position, segment));
    };
    const auto segments = this->template output<std::uint32_t>(5);
    for (const auto& wrong : all_wrong_offsets(5)) {
        const auto offsets = this->array(wrong.offsets);
        EXPECT_THAT(
            [&] {
                primitives::load_balancing_search(place, offsets.view(), segments.span());
                place.synchronise();
            },
            refused(wrong.segment));
        segments.host();
    }
    const auto points = this->template output<merge_path_point>(3);
    for (const auto& wrong : {wrong_offsets{{1}, 0}, {{1, 5}, 0}, {{0, 3, 2, 5}, 1}, {{0, 6, 5}, 0}}) {
        const auto offsets = this->array(wrong.offsets);
        EXPECT_THAT(
            [&] {
                primitives::merge_path_partition(place, offsets.view(), points.span());
                place.synchronise();
            },
            refused(wrong.segment));
    }
    const auto offsets = this->array(std::vector<std::uint64_t>{0, 5});
    for (const std::size_t few : {0u, 1u}) {
        EXPECT_THAT(
            [&] { primitives::merge_path_partition(place, offsets.view(), points.span().first(few)); },
            ::testing::ThrowsMessage<usage_error>("merge_path_partition: points has " + std::to_string(few) +
                                                  " entries, but 2 are needed"));
    }
    // Never read: rejected by the checks.
    const span_on<typename TestFixture::place_type, const std::uint64_t> endless(offsets.view().data(),
                                                                                 (std::size_t{1} << 32) + 1);
    EXPECT_THAT([&] { primitives::load_balancing_search(place, endless, segments.span()); },
                ::testing::ThrowsMessage<usage_error>(
                    "load_balancing_search: 4294967296 segments need 64-bit numbers"));
}

TYPED_TEST(load_balance_test, properties) {
    EXPECT_TRUE(rc::check("pieces are equal, and begin where the search says", [&] {
        const auto items = *rc::gen::inRange<std::uint64_t>(0, 5000);
        const auto offsets = random_offsets(items, *rc::gen::inRange<std::uint64_t>(2, 500),
                                            *rc::gen::arbitrary<std::uint64_t>());
        const auto pieces = *rc::gen::inRange<std::size_t>(1, 300);
        const auto cut = this->array(offsets);
        const auto out = this->template output<merge_path_point>(pieces + 1);
        const auto found = this->template output<std::uint64_t>(items);
        primitives::merge_path_partition(this->place(), cut.view(), out.span());
        primitives::load_balancing_search(this->place(), cut.view(), found.span());
        const auto points = out.host();
        const auto owner = found.host();
        const std::uint64_t steps = items + offsets.size() - 1;
        for (std::size_t p = 0; p < points.size(); ++p) {
            RC_ASSERT(points[p].segment + points[p].item == p * steps / pieces);
            // No item before the point belongs to a later segment, none after it to an earlier one.
            if (points[p].item > 0) RC_ASSERT(owner[points[p].item - 1] <= points[p].segment);
            if (points[p].item < items) RC_ASSERT(owner[points[p].item] >= points[p].segment);
        }
    }));
}

}  // namespace
}  // namespace quern::load_balance_test
