// SPDX-License-Identifier: Apache-2.0
#include "primitives/reduce/reduce.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "primitives/segment_shapes.hpp"
#include "quern/base/error.hpp"
#include "reference/reduce_reference.hpp"

namespace quern::reduce_test {
namespace {

using primitives::reduce_operation;
using primitives::reduced_type;
constexpr reduce_operation all_operations[] = {reduce_operation::sum, reduce_operation::maximum,
                                               reduce_operation::minimum};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Compares the bits, so that −0 and +0 differ and a NaN equals itself.
template <class T>
std::uint64_t bits(T value) {
    return std::bit_cast<std::uint64_t>(value);
}
template <class T>
std::vector<std::uint64_t> bits(const std::vector<T>& values) {
    std::vector<std::uint64_t> all;
    for (const T value : values) all.push_back(bits(value));
    return all;
}

/// Finite, of both signs, and of such different magnitudes that every other order of additions is detected.
template <class T>
std::vector<T> summands(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(count);
    for (T& value : values) {
        const auto mantissa = static_cast<T>(static_cast<std::int64_t>(random()));
        value = std::ldexp(mantissa, static_cast<int>(random() % 120) - 120);
    }
    return values;
}

template <class Tested>
class reduce_test : public on_place<Tested> {
  protected:
    template <class T>
    void expect_reference(const std::vector<T>& values, reduce_operation operation) {
        const auto in = this->array(values);
        EXPECT_EQ(bits(primitives::reduce(this->place(), in.view(), operation)),
                  bits(reference::reduce(values, operation)))
            << values.size() << " values of " << typeid(T).name() << ", operation "
            << static_cast<int>(operation);
    }

    template <class T>
    void expect_segmented_reference(const std::vector<T>& values, const segment_shape& shape,
                                    reduce_operation operation) {
        const auto in = this->array(values);
        const auto offsets = this->array(shape.offsets);
        const auto expected = reference::segmented_reduce(values, shape.offsets, operation);
        const auto out = this->template output<reduced_type<T>>(expected.size());
        primitives::segmented_reduce(this->place(), in.view(), offsets.view(), out.span(), operation);
        EXPECT_EQ(bits(out.host()), bits(expected))
            << values.size() << " values of " << typeid(T).name() << ", " << shape.name << ", operation "
            << static_cast<int>(operation);
    }

    template <class T>
    std::vector<T> some_values(std::size_t n, reduce_operation operation) {
        if constexpr (std::is_floating_point_v<T>) {
            if (operation == reduce_operation::sum) return summands<T>(n, n);
        }
        return random_values<T>(n, n);
    }

    template <class T>
    void expect_references(std::size_t n) {
        for (const auto operation : all_operations) expect_reference(some_values<T>(n, operation), operation);
    }
    void expect_all_references(std::size_t n) {
        expect_references<std::uint8_t>(n);
        expect_references<std::uint32_t>(n);
        expect_references<std::int32_t>(n);
        expect_references<std::uint64_t>(n);
        expect_references<std::int64_t>(n);
        expect_references<float>(n);
        expect_references<double>(n);
    }

    template <class T>
    void expect_segmented_references(std::size_t n) {
        for (const auto& shape : segment_shapes(n))
            for (const auto operation : all_operations)
                expect_segmented_reference(some_values<T>(n, operation), shape, operation);
    }
};
TYPED_TEST_SUITE(reduce_test, tested_places, tested_place_names);

TYPED_TEST(reduce_test, matches_reference) {
    for (const std::size_t n : test_sizes()) this->expect_all_references(n);
    // Blocks of blocks: 1,024² and one more.
    for (const std::size_t n : {1'048'575u, 1'048'576u, 1'048'577u})
        if (n < large_size()) this->expect_reference(summands<float>(n, n), reduce_operation::sum);
    // More blocks than one block of a GPU's threads sums.
    if (!tested_with().small_sizes)
        this->expect_reference(summands<float>(17'000'003, 1), reduce_operation::sum);
}

TYPED_TEST(reduce_test, segmented_matches_reference) {
    for (const std::size_t n : test_sizes()) {
        if (n > 5000) continue;
        this->template expect_segmented_references<float>(n);
        this->template expect_segmented_references<double>(n);
        this->template expect_segmented_references<std::uint8_t>(n);
        this->template expect_segmented_references<std::uint32_t>(n);
        this->template expect_segmented_references<std::int32_t>(n);
        this->template expect_segmented_references<std::uint64_t>(n);
        this->template expect_segmented_references<std::int64_t>(n);
    }
    for (const auto& shape : segment_shapes(large_size())) {
        this->expect_segmented_reference(summands<float>(large_size(), 5), shape, reduce_operation::sum);
        this->expect_segmented_reference(random_values<std::int64_t>(large_size(), 5), shape,
                                         reduce_operation::sum);
        this->expect_segmented_reference(random_values<std::int32_t>(large_size(), 5), shape,
                                         reduce_operation::minimum);
    }
    if (tested_with().small_sizes) return;
    const segment_shape giant{"a giant of more than 1,024² values",
                              {0, 3, 3, 4'200'003, 4'200'008, 4'300'000}};
    this->expect_segmented_reference(summands<float>(4'300'000, 6), giant, reduce_operation::sum);
    this->expect_segmented_reference(random_values<std::uint8_t>(4'300'000, 6), giant, reduce_operation::sum);
    this->expect_segmented_reference(random_values<double>(4'300'000, 6), giant, reduce_operation::maximum);
}

// By hand: the results of the defined order, which no other order gives.
TYPED_TEST(reduce_test, adds_in_the_canonical_order) {
    const auto sum = [&](const std::vector<double>& values) {
        return primitives::reduce(this->place(), this->array(values).view());
    };
    // Lane 0 loses the one; the others are added only when the lanes are folded.
    std::vector<double> values(64);
    values[0] = 1e17, values[32] = 1, values[16] = -1e17;
    EXPECT_EQ(sum(values), 0);
    values[32] = 0, values[48] = 1;  // −1e17 + 1 is −1e17 too
    EXPECT_EQ(sum(values), 0);
    values[48] = 0, values[1] = 1;  // lane 1 is folded last
    EXPECT_EQ(sum(values), 1);
    values[1] = 0, values[8] = 1;  // lanes 0 and 16 have cancelled before
    EXPECT_EQ(sum(values), 1);
    // The first value of the second block is added after the first block is whole.
    values.assign(1025, 0);
    values[0] = 1e17, values[16] = -1e17, values[1024] = 1;
    EXPECT_EQ(sum(values), 1);
    values[16] = 0, values[1024] = -1e17, values[1] = 3;
    EXPECT_EQ(sum(values), 0);
}

TYPED_TEST(reduce_test, passes_infinities_and_nan_through_sums) {
    const auto sum = [&](const std::vector<double>& values) {
        return bits(primitives::reduce(this->place(), this->array(values).view()));
    };
    EXPECT_EQ(sum({}), bits(0.0));
    EXPECT_EQ(sum({-0.0}), bits(0.0));
    EXPECT_EQ(sum(std::vector<double>(2000, -0.0)), bits(0.0));
    EXPECT_EQ(sum({1, infinity, 2}), bits(infinity));
    EXPECT_EQ(sum({1, -infinity, 2}), bits(-infinity));
    EXPECT_EQ(sum({infinity, -infinity}), bits(nan));
    EXPECT_EQ(sum({1e308, 1e308}), bits(infinity));
    EXPECT_EQ(sum({1e308, -1e308}), bits(0.0));
    EXPECT_EQ(sum({5e-324, 5e-324}), bits(1e-323));
    EXPECT_EQ(sum({5e-324, -5e-324}), bits(0.0));
    EXPECT_EQ(sum({std::bit_cast<double>(0xfff8'1234'5678'9abcu)}), bits(nan));
    EXPECT_EQ(sum({std::bit_cast<double>(0x7ff0'0000'0000'0001u), 1}), bits(nan));  // signalling
    std::vector<double> both(3000, 1);
    both[70] = infinity, both[2900] = -infinity;
    EXPECT_EQ(sum(both), bits(nan));
    const std::vector<float> subnormal(5000, std::numeric_limits<float>::denorm_min());
    EXPECT_EQ(primitives::reduce(this->place(), this->array(subnormal).view()), 5000 * 0x1p-149);
    const std::vector<float> strange = {1, std::bit_cast<float>(0xffc0'1234u)};
    EXPECT_EQ(bits(primitives::reduce(this->place(), this->array(strange).view())), bits(nan));

    const std::vector<double> values = {1, nan, 2, infinity, -infinity, -0.0, infinity};
    const auto out = this->template output<double>(5);
    primitives::segmented_reduce(this->place(), this->array(values).view(),
                                 this->array(std::vector<std::uint64_t>{0, 1, 3, 5, 6, 7}).view(),
                                 out.span());
    EXPECT_EQ(bits(out.host()), bits(std::vector<double>{1, nan, nan, 0, infinity}));
}

TYPED_TEST(reduce_test, extremes_of_floats) {
    const auto max = [&](const auto& values) {
        return bits(primitives::reduce(this->place(), this->array(values).view(), reduce_operation::maximum));
    };
    const auto least = [&](const auto& values) {
        return bits(primitives::reduce(this->place(), this->array(values).view(), reduce_operation::minimum));
    };
    const std::vector<float> none;
    EXPECT_EQ(max(none), bits(-infinity));
    EXPECT_EQ(least(none), bits(infinity));
    for (std::size_t n : {2u, 40u, 5000u}) {
        std::vector<double> zeros(n, -0.0);
        EXPECT_EQ(max(zeros), bits(0.0));
        EXPECT_EQ(least(zeros), bits(0.0));
        zeros[n / 2] = 0.0;
        EXPECT_EQ(max(zeros), bits(0.0));
        EXPECT_EQ(least(zeros), bits(0.0));
        zeros[n - 1] = -5e-324;
        EXPECT_EQ(least(zeros), bits(-5e-324));
        zeros[0] = infinity;
        EXPECT_EQ(max(zeros), bits(infinity));
    }
    EXPECT_EQ(max(std::vector<double>{-infinity, -1e308}), bits(-1e308));
    EXPECT_EQ(max(std::vector<float>(70, -std::numeric_limits<float>::infinity())), bits(-infinity));
}

TYPED_TEST(reduce_test, extremes_of_nothing) {
    auto& place = this->place();
    const auto nothing = this->array(std::vector<std::int32_t>());
    EXPECT_EQ(primitives::reduce(place, nothing.view(), reduce_operation::sum), 0);
    EXPECT_EQ(primitives::reduce(place, nothing.view(), reduce_operation::maximum), -2147483648LL);
    EXPECT_EQ(primitives::reduce(place, nothing.view(), reduce_operation::minimum), 2147483647LL);
    const auto no_bytes = this->array(std::vector<std::uint8_t>());
    EXPECT_EQ(primitives::reduce(place, no_bytes.view(), reduce_operation::maximum), 0u);
    EXPECT_EQ(primitives::reduce(place, no_bytes.view(), reduce_operation::minimum), 255u);
}

TYPED_TEST(reduce_test, integer_sums_wrap) {
    const std::vector<std::uint64_t> full(10'007, ~std::uint64_t{0});
    EXPECT_EQ(primitives::reduce(this->place(), this->array(full).view()), -std::uint64_t{10'007});
    const std::vector<std::int32_t> low(3'000'001, std::numeric_limits<std::int32_t>::min());
    EXPECT_EQ(primitives::reduce(this->place(), this->array(low).view()), -2147483648LL * 3'000'001);
    const std::vector<std::uint32_t> high(70'001, ~std::uint32_t{0});  // beyond 32 bits
    EXPECT_EQ(primitives::reduce(this->place(), this->array(high).view()), 4294967295ULL * 70'001);
    const std::vector<std::uint8_t> bytes(1'000'001, 255);
    EXPECT_EQ(primitives::reduce(this->place(), this->array(bytes).view()), 255'000'255u);
}

TYPED_TEST(reduce_test, extremes_refuse_nan_at_its_first_position) {
    auto& place = this->place();
    std::vector<float> values(100'003, 1);
    const auto one_segment = this->array(std::vector<std::uint64_t>{0, 7, values.size()});
    const auto out = this->template output<double>(2);
    values[99'999] = std::numeric_limits<float>::quiet_NaN();
    for (const std::size_t first : {99'999u, 50'000u, 33u, 0u}) {
        values[first] = std::bit_cast<float>(first % 2 == 0 ? 0xffc0'0001u : 0x7f80'0001u);
        const auto in = this->array(values);
        for (const auto operation : {reduce_operation::maximum, reduce_operation::minimum}) {
            const auto says = ::testing::Throws<invalid_value>(
                ::testing::Property(&invalid_value::position, static_cast<std::uint64_t>(first)));
            EXPECT_THAT([&] { primitives::reduce(place, in.view(), operation); }, says);
            EXPECT_THAT(
                [&] {
                    primitives::segmented_reduce(place, in.view(), one_segment.view(), out.span(), operation);
                    place.synchronise();
                },
                says);
        }
    }
}

TYPED_TEST(reduce_test, extremes_refuse_nan_in_any_company) {
    auto& place = this->place();
    const std::vector<std::vector<double>> all = {
        {nan}, {-nan}, {nan, infinity}, {-infinity, nan}, {infinity, nan, -infinity}};
    for (const auto& values : all) {
        const auto first = std::find_if(values.begin(), values.end(), [](double x) { return x != x; });
        for (const auto where : {beginning::aligned, beginning::one_off}) {
            const auto in = this->array(values, where);
            for (const auto operation : {reduce_operation::maximum, reduce_operation::minimum})
                EXPECT_THAT(
                    [&] { primitives::reduce(place, in.view(), operation); },
                    ::testing::Throws<invalid_value>(::testing::Property(
                        &invalid_value::position, static_cast<std::uint64_t>(first - values.begin()))));
        }
    }
    // The next reduction does not see the rejected value.
    const std::vector<double> good = {2, -3};
    EXPECT_EQ(primitives::reduce(place, this->array(good).view(), reduce_operation::minimum), -3);
}

// The types' limits at every position that is special to a vector of 16 bytes.
TYPED_TEST(reduce_test, extremes_of_integers) {
    const auto expect_all = [&]<class T>(T low, T high) {
        for (const std::size_t n : {1u, 2u, 17u, 5001u})
            for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
                std::vector<T> values(n, T(7));
                this->expect_reference(values, reduce_operation::maximum);
                values[at] = low;
                for (const auto operation : all_operations) this->expect_reference(values, operation);
                values[at] = high;
                for (const auto operation : all_operations) this->expect_reference(values, operation);
            }
    };
    expect_all(std::uint8_t{0}, std::uint8_t{255});
    expect_all(std::uint32_t{0}, std::numeric_limits<std::uint32_t>::max());
    expect_all(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
    expect_all(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
    expect_all(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
}

TYPED_TEST(reduce_test, a_gpu_counts_beyond_32_bits) {
    if constexpr (std::is_same_v<typename TestFixture::place_type, cpu_place>) {
        GTEST_SKIP() << "of GPUs";
    } else {
        if (tested_with().small_sizes) GTEST_SKIP() << "4 GB";
        auto& place = this->place();
        constexpr std::uint64_t n = (std::uint64_t{1} << 32) + 5;
        if (place.memory().left() < 2 * n) GTEST_SKIP() << "the GPU has too little memory";
        const auto bytes = make_array<std::uint8_t>(place, n);
        place.fill_bytes(bytes.data(), 3, n);
        place.fill_bytes(bytes.data() + n - 1, 4, 1);
        const device_span<const std::uint8_t> all = bytes.span();
        EXPECT_EQ(primitives::reduce(place, all), 3 * n + 1);
        EXPECT_EQ(primitives::reduce(place, all.subspan(1), reduce_operation::maximum), 4u);
    }
}

TYPED_TEST(reduce_test, refuses_wrong_sizes_and_segments) {
    auto& place = this->place();
    const auto values = this->array(std::vector<float>(5, std::numeric_limits<float>::quiet_NaN()));
    const auto two = this->array(std::vector<std::uint64_t>{0, 2, 5});
    const auto three = this->template output<double>(3);
    EXPECT_THAT([&] { primitives::segmented_reduce(place, values.view(), two.view(), three.span()); },
                ::testing::ThrowsMessage<usage_error>(
                    "segmented_reduce: out has 3 entries, but there are 2 segments"));
    for (const auto& wrong : all_wrong_offsets(5)) {
        const auto offsets = this->array(wrong.offsets);
        const auto out = this->template output<double>(wrong.offsets.empty() ? 0 : wrong.offsets.size() - 1);
        for (const auto operation : all_operations) {  // the offsets come before the NaN
            EXPECT_THAT(
                [&] {
                    primitives::segmented_reduce(place, values.view(), offsets.view(), out.span(), operation);
                    place.synchronise();
                },
                ::testing::Throws<invalid_value>(
                    ::testing::Property(&invalid_value::what, ::testing::HasSubstr("offsets do not rise"))));
        }
        EXPECT_THAT(
            [&] {
                primitives::segmented_reduce(place, values.view(), offsets.view(), out.span());
                place.synchronise();
            },
            ::testing::Throws<invalid_value>(::testing::Property(&invalid_value::position, wrong.segment)));
    }
}

TYPED_TEST(reduce_test, a_gpu_refuses_more_values_than_it_counts) {
    if (std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of GPUs";
    const auto bytes = this->array(std::vector<std::uint8_t>(4));
    const auto offsets = this->array(std::vector<std::uint64_t>{0, 4});
    const auto out = this->template output<std::uint64_t>(1);
    // Never read: rejected by the checks.
    const span_on<typename TestFixture::place_type, const std::uint8_t> endless(bytes.view().data(),
                                                                                (std::size_t{1} << 40) + 1);
    EXPECT_THAT([&] { primitives::segmented_reduce(this->place(), endless, offsets.view(), out.span()); },
                ::testing::ThrowsMessage<usage_error>(
                    "segmented_reduce: 1099511627777 values, but a GPU takes at most 1099511627776"));
}

TYPED_TEST(reduce_test, every_instruction_set_gives_the_same) {
    if (!std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of the CPU";
    on_every_target([&] {
        for (const std::size_t n : {0u, 1u, 7u, 33u, 1025u, 40'009u}) this->expect_all_references(n);
        this->template expect_segmented_references<float>(20'011);
        this->template expect_segmented_references<double>(5'003);
        this->template expect_segmented_references<std::uint8_t>(5'003);
    });
}

TYPED_TEST(reduce_test, properties) {
    EXPECT_TRUE(rc::check("a segment's sum is that of its slice alone", [&] {
        const auto values =
            summands<float>(*rc::gen::inRange<std::size_t>(0, 9000), *rc::gen::arbitrary<std::uint64_t>());
        const auto offsets = random_offsets(values.size(), *rc::gen::inRange<std::uint64_t>(100, 5000),
                                            *rc::gen::arbitrary<std::uint64_t>());
        const auto in = this->array(values);
        const auto out = this->template output<double>(offsets.size() - 1);
        primitives::segmented_reduce(this->place(), in.view(), this->array(offsets).view(), out.span());
        const auto sums = out.host();
        for (std::size_t s = 0; s < sums.size(); ++s) {
            const auto slice = in.view().subspan(offsets[s], offsets[s + 1] - offsets[s]);
            RC_ASSERT(bits(sums[s]) == bits(primitives::reduce(this->place(), slice)));
        }
    }));
}

}  // namespace
}  // namespace quern::reduce_test
