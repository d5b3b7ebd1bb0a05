// SPDX-License-Identifier: Apache-2.0
#include "primitives/scan/scan.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "primitives/segment_shapes.hpp"
#include "quern/base/error.hpp"
#include "reference/scan_reference.hpp"

namespace quern::scan_test {
namespace {

using primitives::scan_operation;
constexpr scan_operation all_operations[] = {scan_operation::sum, scan_operation::maximum,
                                             scan_operation::minimum};

template <class Tested>
class scan_test : public on_place<Tested> {
  protected:
    /// Both scans, into fresh memory, into memory longer by one, and in place.
    template <class In, class Out>
    void expect_reference(const std::vector<In>& values, scan_operation operation) {
        SCOPED_TRACE(::testing::Message() << values.size() << " values of " << sizeof(In) << " bytes into "
                                          << sizeof(Out) << ", operation " << static_cast<int>(operation));
        const auto with_total = reference::exclusive_scan<Out>(values, operation);
        const std::vector<Out> inclusive(with_total.begin() + 1, with_total.end());
        const std::vector<Out> exclusive(with_total.begin(), with_total.end() - 1);
        const auto in = this->array(values);
        const auto out = this->template output<Out>(values.size());
        primitives::inclusive_scan(this->place(), in.view(), out.span(), operation);
        EXPECT_EQ(out.host(), inclusive);
        primitives::exclusive_scan(this->place(), in.view(), out.span(), operation);
        EXPECT_EQ(out.host(), exclusive);
        const auto longer = this->template output<Out>(values.size() + 1);
        primitives::exclusive_scan(this->place(), in.view(), longer.span(), operation);
        EXPECT_EQ(longer.host(), with_total);
        EXPECT_EQ(in.host(), values);
        if constexpr (std::is_same_v<In, Out>) expect_in_place(values, operation, inclusive, with_total);
    }

    template <class T>
    void expect_in_place(std::vector<T> values, scan_operation operation, const std::vector<T>& inclusive,
                         const std::vector<T>& with_total) {
        const auto memory = this->array(values);
        primitives::inclusive_scan(this->place(), memory.view(), memory.span(), operation);
        EXPECT_EQ(memory.host(), inclusive) << "in place";
        values.push_back(T(0x5555));  // to be overwritten by the total
        const auto longer = this->array(values);
        primitives::exclusive_scan(this->place(), longer.view().first(values.size() - 1), longer.span(),
                                   operation);
        EXPECT_EQ(longer.host(), with_total) << "in place";
    }

    template <class T>
    void expect_segmented_reference(const std::vector<T>& values, const segment_shape& shape,
                                    scan_operation operation) {
        SCOPED_TRACE(::testing::Message() << values.size() << " values of " << sizeof(T) << " bytes, "
                                          << shape.name << ", operation " << static_cast<int>(operation));
        const auto offsets = this->array(shape.offsets);
        for (const bool inclusive : {true, false}) {
            const auto expected = reference::segmented_scan(values, shape.offsets, operation, inclusive);
            const auto in = this->array(values);
            const auto out = this->template output<T>(values.size());
            const auto scan = [&](auto to) {
                if (inclusive)
                    primitives::segmented_inclusive_scan(this->place(), in.view(), offsets.view(), to,
                                                         operation);
                else
                    primitives::segmented_exclusive_scan(this->place(), in.view(), offsets.view(), to,
                                                         operation);
            };
            scan(out.span());
            EXPECT_EQ(out.host(), expected) << inclusive;
            scan(in.span());
            EXPECT_EQ(in.host(), expected) << inclusive << ", in place";
        }
    }

    void expect_all_references(std::size_t n) {
        for (const scan_operation operation : all_operations) {
            expect_reference<std::uint32_t, std::uint32_t>(random_values<std::uint32_t>(n, n), operation);
            expect_reference<std::int32_t, std::int32_t>(random_values<std::int32_t>(n, n), operation);
            expect_reference<std::uint64_t, std::uint64_t>(random_values<std::uint64_t>(n, n), operation);
            expect_reference<std::int64_t, std::int64_t>(random_values<std::int64_t>(n, n), operation);
        }
        expect_reference<std::uint8_t, std::uint64_t>(random_values<std::uint8_t>(n, n), scan_operation::sum);
        expect_reference<std::uint32_t, std::uint64_t>(random_values<std::uint32_t>(n, n, 0),
                                                       scan_operation::sum);
    }

    template <class T>
    void expect_all_segmented_references(std::size_t n) {
        for (const auto& shape : segment_shapes(n))
            for (const scan_operation operation : all_operations)
                expect_segmented_reference(random_values<T>(n, n), shape, operation);
    }
};
TYPED_TEST_SUITE(scan_test, tested_places, tested_place_names);

TYPED_TEST(scan_test, matches_reference) {
    for (const std::size_t n : test_sizes()) this->expect_all_references(n);
    // Around where a CPU place begins to share the work.
    for (const std::size_t n : {114'689u, 131'073u, 229'376u, 229'377u, 262'144u})
        this->expect_all_references(n);
}

TYPED_TEST(scan_test, segmented_matches_reference) {
    for (const std::size_t n : test_sizes()) {
        if (n > 5000) continue;
        this->template expect_all_segmented_references<std::uint64_t>(n);
        this->template expect_all_segmented_references<std::uint32_t>(n);
        this->template expect_all_segmented_references<std::int32_t>(n);
        this->template expect_all_segmented_references<std::int64_t>(n);
    }
    for (const auto& shape : segment_shapes(large_size())) {
        this->expect_segmented_reference(random_values<std::uint64_t>(large_size(), 3), shape,
                                         scan_operation::sum);
        this->expect_segmented_reference(random_values<std::int32_t>(large_size(), 3), shape,
                                         scan_operation::maximum);
    }
}

// Runs that only fall or only rise, and the limits of the types, where a wrong identity or signedness shows.
TYPED_TEST(scan_test, holds_at_the_ends_of_the_types) {
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                           max = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> ends, falling, ones(70'001, -1);
    for (std::int64_t i = 0; i < 10'007; ++i) {
        ends.push_back(i % 3 == 0 ? least : i % 3 == 1 ? max : -i);
        falling.push_back(-i);
    }
    const std::vector<std::int32_t> narrow(falling.begin(), falling.end());
    const std::vector<std::uint32_t> full(100'003, std::numeric_limits<std::uint32_t>::max());
    const std::vector<std::uint8_t> bytes(300'007, 255);
    for (const scan_operation operation : all_operations) {
        for (const auto& values : {ends, falling, ones})
            this->template expect_reference<std::int64_t, std::int64_t>(values, operation);
        this->template expect_reference<std::int32_t, std::int32_t>(narrow, operation);
        this->template expect_reference<std::uint32_t, std::uint32_t>(full, operation);  // wraps
    }
    this->template expect_reference<std::uint32_t, std::uint64_t>(full, scan_operation::sum);
    this->template expect_reference<std::uint8_t, std::uint64_t>(bytes, scan_operation::sum);
}

TYPED_TEST(scan_test, a_gpu_counts_beyond_32_bits) {
    if constexpr (std::is_same_v<typename TestFixture::place_type, cpu_place>) {
        GTEST_SKIP() << "of GPUs";
    } else {
        if (tested_with().small_sizes) GTEST_SKIP() << "17 GB";
        auto& place = this->place();
        constexpr std::uint64_t n = (std::uint64_t{1} << 32) + 5;
        if (place.memory().left() < 6 * n) GTEST_SKIP() << "the GPU has too little memory";
        const auto values = make_array<std::uint32_t>(place, n + 1);
        constexpr std::uint32_t one = 0x01010101;  // each value; sums wrap, and (2³² + k) · one is k · one
        place.fill_bytes(values.data(), 1, n * sizeof(std::uint32_t));
        primitives::inclusive_scan<std::uint32_t, std::uint32_t>(place, values.span().first(n),
                                                                 values.span().first(n));
        EXPECT_EQ(to_host(place, values.span().subspan(n - 2, 2)),
                  (std::vector<std::uint32_t>{4 * one, 5 * one}));
        place.fill_bytes(values.data(), 1, n * sizeof(std::uint32_t));
        primitives::exclusive_scan<std::uint32_t, std::uint32_t>(place, values.span().first(n),
                                                                 values.span());
        EXPECT_EQ(to_host(place, values.span().subspan(n - 2)),
                  (std::vector<std::uint32_t>{3 * one, 4 * one, 5 * one}));
    }
}

TYPED_TEST(scan_test, every_instruction_set_gives_the_same) {
    if (!std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of the CPU";
    on_every_target([&] {
        for (const std::size_t n : {0u, 1u, 7u, 33u, 1025u, 40'009u}) this->expect_all_references(n);
        this->template expect_all_segmented_references<std::uint32_t>(20'011);
        this->template expect_all_segmented_references<std::int64_t>(5'003);
    });
}

TYPED_TEST(scan_test, refuses_sizes_that_differ) {
    const auto four = this->template output<std::uint64_t>(4), six = this->template output<std::uint64_t>(6);
    const auto bytes = this->template output<std::uint8_t>(4);
    const auto offsets = this->array(std::vector<std::uint64_t>{0, 4});
    auto& place = this->place();
    const auto says = [](const char* words) { return ::testing::ThrowsMessage<usage_error>(words); };
    EXPECT_THAT([&] { primitives::inclusive_scan(place, four.view(), six.span()); },
                says("inclusive_scan: in has 4 entries, but out has 6"));
    EXPECT_THAT([&] { primitives::exclusive_scan(place, six.view(), four.span()); },
                says("exclusive_scan: in has 6 entries, but out has 4"));
    EXPECT_THAT([&] { primitives::exclusive_scan(place, four.view(), six.span()); },
                says("exclusive_scan: in has 4 entries, but out has 6"));
    EXPECT_THAT([&] { primitives::segmented_inclusive_scan(place, four.view(), offsets.view(), six.span()); },
                says("segmented_inclusive_scan: in has 4 entries, but out has 6"));
    EXPECT_THAT([&] { primitives::segmented_exclusive_scan(place, four.view(), offsets.view(), six.span()); },
                says("segmented_exclusive_scan: in has 4 entries, but out has 6"));
    EXPECT_THAT(
        [&] { primitives::inclusive_scan(place, bytes.view(), four.span(), scan_operation::maximum); },
        says("inclusive_scan: only sums allow a wider result type"));
    EXPECT_THAT(
        [&] { primitives::exclusive_scan(place, bytes.view(), four.span(), scan_operation::minimum); },
        says("exclusive_scan: only sums allow a wider result type"));
}

TYPED_TEST(scan_test, names_the_segment_that_is_wrong) {
    const auto values = this->array(std::vector<std::uint32_t>(5, 1));
    for (const auto& wrong : all_wrong_offsets(5)) {
        const auto offsets = this->array(wrong.offsets);
        for (const bool inclusive : {true, false}) {
            try {
                if (inclusive)
                    primitives::segmented_inclusive_scan(this->place(), values.view(), offsets.view(),
                                                         values.span());
                else
                    primitives::segmented_exclusive_scan(this->place(), values.view(), offsets.view(),
                                                         values.span());
                this->place().synchronise();
                ADD_FAILURE() << "not refused: segment " << wrong.segment;
            } catch (const invalid_value& refusal) {
                EXPECT_EQ(refusal.position(), wrong.segment);
            }
        }
    }
}

TYPED_TEST(scan_test, properties) {
    EXPECT_TRUE(rc::check("inclusive is exclusive, one further", [&] {
        const auto values = *rc::gen::arbitrary<std::vector<std::int64_t>>();
        const auto operation =
            *rc::gen::elementOf(std::vector(std::begin(all_operations), std::end(all_operations)));
        const auto in = this->array(values);
        const auto inclusive = this->template output<std::int64_t>(values.size());
        const auto exclusive = this->template output<std::int64_t>(values.size() + 1);
        primitives::inclusive_scan(this->place(), in.view(), inclusive.span(), operation);
        primitives::exclusive_scan(this->place(), in.view(), exclusive.span(), operation);
        auto further = exclusive.host();
        RC_ASSERT(further.front() == reference::scan_identity<std::int64_t>(operation));
        further.erase(further.begin());
        RC_ASSERT(inclusive.host() == further);
    }));
    EXPECT_TRUE(rc::check("a segment is scanned as if it were alone", [&] {
        const auto values = *rc::gen::arbitrary<std::vector<std::uint32_t>>();
        const auto offsets = random_offsets(values.size(), *rc::gen::inRange<std::uint64_t>(2, 100),
                                            *rc::gen::arbitrary<std::uint64_t>());
        const auto in = this->array(values);
        const auto cut = this->array(offsets);
        const auto out = this->template output<std::uint32_t>(values.size());
        const auto alone = this->template output<std::uint32_t>(values.size());
        primitives::segmented_inclusive_scan(this->place(), in.view(), cut.view(), out.span());
        for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
            const std::size_t length = offsets[s + 1] - offsets[s];
            primitives::inclusive_scan(this->place(), in.view().subspan(offsets[s], length),
                                       alone.span().subspan(offsets[s], length));
        }
        RC_ASSERT(out.host() == alone.host());
    }));
}

}  // namespace
}  // namespace quern::scan_test
