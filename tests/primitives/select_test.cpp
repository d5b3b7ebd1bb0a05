// SPDX-License-Identifier: Apache-2.0
#include "primitives/select/select.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <numeric>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "quern/base/error.hpp"
#include "reference/select_reference.hpp"

namespace quern::select_test {
namespace {

struct flag_shape {
    const char* name;
    std::vector<std::uint8_t> flags;
};

/// None, all, a few, most, and long ranges of either; any byte but 0 is a set flag.
std::vector<flag_shape> flag_shapes(std::size_t n) {
    std::mt19937_64 random(n);
    const auto filled = [&](auto flag) {
        std::vector<std::uint8_t> flags(n);
        for (std::size_t i = 0; i < n; ++i) flags[i] = static_cast<std::uint8_t>(flag(i));
        return flags;
    };
    return {{"none", filled([](auto) { return 0; })},
            {"all", filled([](auto) { return 1; })},
            {"half, of any value", filled([&](auto) { return random() % 2 * (1 + random() % 255); })},
            {"one in a hundred", filled([&](auto) { return random() % 100 == 0 ? 255 : 0; })},
            {"all but one in a hundred", filled([&](auto) { return random() % 100 == 0 ? 0 : 128; })},
            {"stretches", filled([](auto i) { return i / 777 % 3 == 1; })},
            {"the first and the last", filled([&](auto i) { return i == 0 || i + 1 == n; })}};
}

/// Values in runs: of one, of a few, of many, all equal.
template <class T>
std::vector<std::vector<T>> run_shapes(std::size_t n) {
    std::mt19937_64 random(n + 1);
    std::vector<std::vector<T>> shapes = {std::vector<T>(n, T(7)), random_values<T>(n, n, 0),
                                          random_values<T>(n, n, 1)};
    for (const std::uint64_t longest : {3u, 40u, 5000u}) {
        std::vector<T> values;
        while (values.size() < n) {
            const auto length = std::min<std::uint64_t>(n - values.size(), 1 + random() % longest);
            values.insert(values.end(), length, static_cast<T>(random() % 3 * 0x5555'5555'0000'0001u));
        }
        shapes.push_back(std::move(values));
    }
    return shapes;
}

template <class Tested>
class select_test : public on_place<Tested> {
  protected:
    /// Into memory of `capacity` entries: the front is as expected, the rest unchanged.
    template <class T, class Select>
    void expect_in_capacity(const std::vector<T>& expected, std::size_t capacity, Select select) {
        const auto out = this->template output<T>(capacity);
        auto whole = out.host();
        ASSERT_EQ(select(out.span()), expected.size());
        std::copy(expected.begin(), expected.end(), whole.begin());
        EXPECT_EQ(out.host(), whole);
    }

    template <class T>
    void expect_compact(const flag_shape& shape) {
        SCOPED_TRACE(::testing::Message()
                     << shape.flags.size() << " values of " << sizeof(T) << " bytes, " << shape.name);
        const auto values = random_values<T>(shape.flags.size(), 7);
        const auto in = this->array(values);
        const auto flags = this->array(shape.flags);
        const auto kept = reference::compact(values, shape.flags);
        const auto positions = reference::compact_positions<T>(shape.flags);
        for (const std::size_t capacity : {kept.size(), values.size(), values.size() + 5}) {
            expect_in_capacity(kept, capacity, [&](auto out) {
                return primitives::compact(this->place(), in.view(), flags.view(), out);
            });
            expect_in_capacity(positions, capacity, [&](auto out) {
                return primitives::compact_positions(this->place(), flags.view(), out);
            });
        }
    }

    template <class T>
    void expect_runs(const std::vector<T>& values) {
        const auto expected = reference::run_length_encode(values);
        SCOPED_TRACE(::testing::Message() << values.size() << " values of " << sizeof(T) << " bytes, "
                                          << expected.unique.size() << " runs");
        const auto in = this->array(values);
        for (const std::size_t capacity : {expected.unique.size(), values.size() + 3}) {
            const auto counts = this->template output<std::uint64_t>(capacity);
            auto all_counts = counts.host();
            std::copy(expected.counts.begin(), expected.counts.end(), all_counts.begin());
            expect_in_capacity(expected.unique, capacity, [&](auto unique) {
                return primitives::run_length_encode(this->place(), in.view(), unique, counts.span());
            });
            EXPECT_EQ(counts.host(), all_counts);
        }
    }

    void expect_references(std::size_t n) {
        for (const auto& shape : flag_shapes(n)) {
            expect_compact<std::uint32_t>(shape);
            expect_compact<std::uint64_t>(shape);
        }
        for (const auto& values : run_shapes<std::uint32_t>(n)) expect_runs(values);
        for (const auto& values : run_shapes<std::uint64_t>(n)) expect_runs(values);
    }
};
TYPED_TEST_SUITE(select_test, tested_places, tested_place_names);

TYPED_TEST(select_test, matches_reference) {
    for (const std::size_t n : test_sizes()) this->expect_references(n);
}

TYPED_TEST(select_test, every_instruction_set_gives_the_same) {
    if (!std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of the CPU";
    on_every_target([&] {
        for (const std::size_t n : {0u, 1u, 7u, 33u, 65u, 1025u, 40'009u}) this->expect_references(n);
    });
}

TYPED_TEST(select_test, refuses_too_little_room) {
    auto& place = this->place();
    for (const std::size_t n : {5u, 300'007u}) {
        const auto values = this->array(random_values<std::uint32_t>(n, n, 0));
        const auto flags = this->array(std::vector<std::uint8_t>(n, 1));
        const auto little = this->template output<std::uint32_t>(n - 1);  // its guards are checked
        const auto capacity = this->template output<std::uint32_t>(n);
        const auto little_counts = this->template output<std::uint64_t>(n - 2);
        const auto counts = this->template output<std::uint64_t>(n);
        const auto says = [&](const std::string& words, std::size_t size) {
            return ::testing::ThrowsMessage<usage_error>(words + std::to_string(size) + " entries, but " +
                                                         std::to_string(n) + " are needed");
        };
        EXPECT_THAT([&] { primitives::compact(place, values.view(), flags.view(), little.span()); },
                    says("compact: out has ", n - 1));
        EXPECT_THAT([&] { primitives::compact_positions(place, flags.view(), little.span()); },
                    says("compact_positions: out has ", n - 1));
        EXPECT_THAT(
            [&] { primitives::run_length_encode(place, values.view(), little.span(), counts.span()); },
            says("run_length_encode: unique has ", n - 1));
        EXPECT_THAT(
            [&] {
                primitives::run_length_encode(place, values.view(), capacity.span(), little_counts.span());
            },
            says("run_length_encode: counts has ", n - 2));
        little.host();
        little_counts.host();
    }
}

TYPED_TEST(select_test, refuses_other_wrong_sizes) {
    auto& place = this->place();
    const auto values = this->template output<std::uint64_t>(5);
    const auto flags = this->template output<std::uint8_t>(4);
    EXPECT_THAT([&] { primitives::compact(place, values.view(), flags.view(), values.span()); },
                ::testing::ThrowsMessage<usage_error>("compact: values has 5 entries, but flags has 4"));
    // Never read: rejected by the checks.
    const span_on<typename TestFixture::place_type, const std::uint8_t> endless(flags.view().data(),
                                                                                std::size_t{1} << 32);
    const auto narrow = this->template output<std::uint32_t>(4);
    EXPECT_THAT(
        [&] { primitives::compact_positions(place, endless, narrow.span()); },
        ::testing::ThrowsMessage<usage_error>("compact_positions: 4294967296 flags need 64-bit positions"));
}

TYPED_TEST(select_test, properties) {
    EXPECT_TRUE(rc::check("what is kept and what is not make the whole", [&] {
        const auto n = *rc::gen::inRange<std::size_t>(0, 3000);
        const auto flags = *rc::gen::container<std::vector<std::uint8_t>>(
            n, rc::gen::elementOf(std::vector<std::uint8_t>{0, 1, 255}));
        std::vector<std::uint8_t> others(n);
        std::transform(flags.begin(), flags.end(), others.begin(), [](auto flag) { return flag == 0; });
        const auto kept = this->template output<std::uint64_t>(n),
                   left = this->template output<std::uint64_t>(n);
        const std::size_t many =
            primitives::compact_positions(this->place(), this->array(flags).view(), kept.span());
        const std::size_t rest =
            primitives::compact_positions(this->place(), this->array(others).view(), left.span());
        RC_ASSERT(many + rest == n);
        const auto a = kept.host(), b = left.host();
        std::vector<std::uint64_t> merged(n), all(n);
        std::merge(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(many), b.begin(),
                   b.begin() + static_cast<std::ptrdiff_t>(rest), merged.begin());  // both must ascend
        std::iota(all.begin(), all.end(), 0);
        RC_ASSERT(merged == all);
    }));
    EXPECT_TRUE(rc::check("runs decode to what was encoded", [&] {
        const auto values = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0u, 3u));
        const auto unique = this->template output<std::uint32_t>(values.size());
        const auto counts = this->template output<std::uint64_t>(values.size());
        const std::size_t runs = primitives::run_length_encode(this->place(), this->array(values).view(),
                                                               unique.span(), counts.span());
        auto some = unique.host();
        some.resize(runs);
        RC_ASSERT(reference::decode_runs(some, counts.host()) == values);
        RC_ASSERT(std::adjacent_find(some.begin(), some.end()) == some.end());
    }));
}

}  // namespace
}  // namespace quern::select_test
