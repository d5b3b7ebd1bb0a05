// SPDX-License-Identifier: Apache-2.0
// Sorting against std::stable_sort, bit by bit: every key type with every payload, on data that is hard for a radix
// sort (few values, one crowded digit, digits that never change, both zeros), in both directions.
#include "primitives/sort/sort.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "on_each_place.hpp"
#include "primitives/keys.hpp"
#include "quern/base/error.hpp"
#include "reference/sort_reference.hpp"
#include "sort_data.hpp"

namespace quern::sort_test {
namespace {

using primitives::order;
using primitives::sort_options;
using reference::stored_bits;

template <class Tested>
class sort_test : public on_place<Tested> {
  protected:
    // `positions` is the reference's result for these keys: computed once, compared with keys alone and pairs.
    template <class Key>
    void expect_keys_sorted(const std::vector<Key>& keys, const std::vector<std::size_t>& positions,
                            sort_options options, const std::string& what) {
        auto sorted = this->array(keys);
        primitives::sort_keys(this->place(), sorted.span(), options);
        const auto expected = reference::taken_in_order(std::span<const Key>(keys), positions);
        EXPECT_TRUE(stored_bits(sorted.host()) == stored_bits(expected))
            << what << ", " << keys.size() << " keys, " << direction_name(options.direction);
    }

    template <class Value, class Key>
    void expect_pairs_sorted(const std::vector<Key>& keys, const std::vector<std::size_t>& positions,
                             sort_options options, const std::string& what) {
        const auto values = distinct_values<Value>(keys.size());
        auto sorted = this->array(keys);
        auto carried = this->array(values);
        primitives::sort_pairs(this->place(), sorted.span(), carried.span(), options);
        const auto expected_keys = reference::taken_in_order(std::span<const Key>(keys), positions);
        const auto expected_values = reference::taken_in_order(std::span<const Value>(values), positions);
        EXPECT_TRUE(stored_bits(sorted.host()) == stored_bits(expected_keys))
            << "keys of " << what << ", " << keys.size() << " pairs, " << direction_name(options.direction);
        EXPECT_TRUE(carried.host() == expected_values)
            << "values of " << what << ", " << keys.size() << " pairs, " << direction_name(options.direction);
    }

    template <class Key>
    void expect_sorted(const std::vector<Key>& keys, sort_options options, const std::string& what) {
        const auto positions = reference::sorted_positions(std::span<const Key>(keys), options.direction);
        expect_keys_sorted(keys, positions, options, what);
        expect_pairs_sorted<std::uint32_t>(keys, positions, options, what);
        expect_pairs_sorted<std::uint64_t>(keys, positions, options, what);
    }
};
TYPED_TEST_SUITE(sort_test, tested_places, tested_place_names);

TYPED_TEST(sort_test, matches_reference_at_every_size_and_type) {
    for_each_key_type([&]<class Key>(Key) {
        for (const std::size_t n : test_sizes()) {
            const order direction = n % 2 == 0 ? order::ascending : order::descending;
            this->expect_sorted(random_values<Key>(n, n + 1), {.direction = direction}, type_name<Key>());
        }
    });
}

TYPED_TEST(sort_test, matches_reference_in_both_directions_with_many_ties) {
    for_each_key_type([&]<class Key>(Key) {
        for (const order direction : {order::ascending, order::descending}) {
            for (const std::size_t n : {5u, 100u, 5000u, 70'001u}) {
                this->expect_sorted(random_values<Key>(n, n, 1), {.direction = direction},
                                    "eight values of " + type_name<Key>());
            }
        }
    });
}

TYPED_TEST(sort_test, matches_reference_on_hard_data) {
    const std::size_t n = tested_with().small_sizes ? 5003 : 300'011;
    order direction = order::ascending;
    for_each_key_type([&]<class Key>(Key) {
        for (const hard_data<Key>& data : hard_keys<Key>(n)) {
            this->expect_sorted(data.keys, {.direction = direction}, data.name + " " + type_name<Key>());
            direction = direction == order::ascending ? order::descending : order::ascending;
        }
    });
}

TYPED_TEST(sort_test, hard_data_of_every_small_size) {
    for (std::size_t n = 0; n <= 70; ++n) {
        for_each_key_type([&]<class Key>(Key) {
            for (const hard_data<Key>& data : hard_keys<Key>(n))
                this->expect_sorted(data.keys, {}, data.name + " " + type_name<Key>());
        });
        if (tested_with().small_sizes) n += 12;
    }
}

TYPED_TEST(sort_test, keeps_the_order_and_the_bits_of_both_zeros) {
    const auto check = [&]<class Key>(Key) {
        const std::vector<Key> keys{Key(0), Key(-0.0), Key(1), Key(-0.0), Key(0), Key(-1), Key(-0.0)};
        std::vector<std::uint32_t> ids(keys.size());
        std::iota(ids.begin(), ids.end(), 0u);
        for (const order direction : {order::ascending, order::descending}) {
            auto sorted = this->array(keys);
            auto carried = this->array(ids);
            primitives::sort_pairs(this->place(), sorted.span(), carried.span(), {.direction = direction});
            const std::vector<std::uint32_t> rising{5, 0, 1, 3, 4, 6, 2}, falling{2, 0, 1, 3, 4, 6, 5};
            EXPECT_EQ(carried.host(), direction == order::ascending ? rising : falling);
            for (std::size_t i = 0; i < keys.size(); ++i)
                EXPECT_EQ(std::signbit(sorted.host()[i]), std::signbit(keys[carried.host()[i]])) << i;
        }
    };
    check(float{});
    check(double{});
}

TYPED_TEST(sort_test, refuses_not_a_number_and_names_the_first) {
    const auto check = [&]<class Key>(Key) {
        const std::size_t large = large_size();
        for (const std::size_t n : {std::size_t{1}, std::size_t{40}, std::size_t{5000}, large}) {
            for (const std::size_t first : {std::size_t{0}, n / 3, n - 1}) {
                auto keys = random_values<Key>(n, n);
                keys[first] = std::numeric_limits<Key>::quiet_NaN();
                keys[n - 1] = -std::numeric_limits<Key>::quiet_NaN();
                if (first + 5 < n) keys[first + 5] = std::numeric_limits<Key>::signaling_NaN();
                expect_refused_key(first, [&] {
                    auto refused = this->array(keys);
                    primitives::sort_keys(this->place(), refused.span());
                    this->place().synchronise();
                });
                expect_refused_key(first, [&] {
                    auto refused = this->array(keys);
                    auto ids = this->array(distinct_values<std::uint32_t>(n));
                    primitives::sort_pairs(this->place(), refused.span(), ids.span(),
                                           {.direction = order::descending});
                    this->place().synchronise();
                });
            }
        }
    };
    check(float{});
    check(double{});
}

TYPED_TEST(sort_test, works_after_a_refusal) {
    auto refused = this->array(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()});
    EXPECT_THROW(
        {
            primitives::sort_keys(this->place(), refused.span());
            this->place().synchronise();
        },
        invalid_value);
    this->expect_sorted(random_values<float>(1000, 1), {}, "after a refusal");
}

TYPED_TEST(sort_test, looks_at_no_more_bits_than_keys_have) {
    std::mt19937_64 random(5);
    for (const unsigned bits : {1u, 7u, 8u, 11u, 12u, 20u, 24u, 31u, 32u, 33u, 45u, 64u}) {
        for (const std::size_t n : {std::size_t{37}, std::size_t{4097}, large_size() / 10}) {
            std::vector<std::uint64_t> wide(n);
            for (auto& key : wide) key = random() >> (64 - bits);
            const order direction = bits % 2 == 0 ? order::ascending : order::descending;
            this->expect_sorted(wide, {.direction = direction, .key_bits = bits},
                                std::to_string(bits) + " bits");
            if (bits > 32) continue;
            const std::vector<std::uint32_t> narrow(wide.begin(), wide.end());
            this->expect_sorted(narrow, {.direction = direction, .key_bits = bits},
                                std::to_string(bits) + " bits");
        }
    }
}

TYPED_TEST(sort_test, refuses_values_of_another_number) {
    auto keys = this->array(std::vector<float>(5, 1.0f));
    auto values = this->array(std::vector<std::uint32_t>(4));
    try {
        primitives::sort_pairs(this->place(), keys.span(), values.span());
        FAIL() << "four values for five keys";
    } catch (const usage_error& e) {
        EXPECT_STREQ(e.what(), "sort_pairs: values has 4 entries, but keys has 5");
    }
}

TYPED_TEST(sort_test, starts_at_any_address) {
    const auto keys = random_values<float>(50'017, 3);
    for (const std::size_t skip : {1u, 3u, 7u}) {
        auto all_keys = this->array(keys);
        auto all_values = this->array(distinct_values<std::uint32_t>(keys.size()));
        const std::size_t count = keys.size() - 2 * skip;
        primitives::sort_pairs(this->place(), all_keys.span().subspan(skip, count),
                               all_values.span().subspan(skip + 1, count));
        const std::vector<float> part(keys.begin() + static_cast<std::ptrdiff_t>(skip),
                                      keys.end() - static_cast<std::ptrdiff_t>(skip));
        auto expected = reference::sorted_keys(part, order::ascending);
        expected.insert(expected.begin(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(skip));
        expected.insert(expected.end(), keys.end() - static_cast<std::ptrdiff_t>(skip), keys.end());
        EXPECT_TRUE(stored_bits(all_keys.host()) == stored_bits(expected)) << skip;
    }
}

TYPED_TEST(sort_test, gives_back_all_memory) {
    auto keys = this->array(random_values<float>(large_size() / 4, 9));
    auto values = this->array(distinct_values<std::uint32_t>(keys.size()));
    const auto before = this->place().memory().used();
    primitives::sort_pairs(this->place(), keys.span(), values.span());
    this->place().synchronise();
    EXPECT_EQ(this->place().memory().used(), before);
}

// More keys than a GPU's passes take at once (2²⁸). Too many for a reference that sorts: the pairs must ascend strictly, by
// key and then by id, and each key must belong to its id.
TYPED_TEST(sort_test, sorts_more_than_a_portion) {
    constexpr bool on_gpu = !std::is_same_v<typename TestFixture::place_type, cpu_place>;
    const std::size_t n = on_gpu && !tested_with().small_sizes ? (std::size_t{1} << 28) + 4097 : large_size();
    const auto key_of = [](std::uint32_t id) { return (id * 2654435761u) >> 11; };  // 21 bits: ties
    std::vector<std::uint32_t> keys(n), ids(n);
    std::iota(ids.begin(), ids.end(), 0u);
    std::transform(ids.begin(), ids.end(), keys.begin(), key_of);
    {
        const auto sorted = array_from(this->place(), std::span<const std::uint32_t>(keys));
        const auto carried = array_from(this->place(), std::span<const std::uint32_t>(ids));
        primitives::sort_pairs(this->place(), sorted.span(), carried.span(), {.key_bits = 21});
        keys = to_host(this->place(), sorted.span());
        ids = to_host(this->place(), carried.span());
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const bool rises = i == 0 || keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && ids[i - 1] < ids[i]);
        wrong += !rises || ids[i] >= n || keys[i] != key_of(ids[i]);
    }
    EXPECT_EQ(wrong, 0u);
}

TYPED_TEST(sort_test, properties) {
    EXPECT_TRUE(rc::check("any pairs", [&](const std::vector<std::int32_t>& keys, bool descending) {
        const sort_options options{.direction = descending ? order::descending : order::ascending};
        const auto values = distinct_values<std::uint32_t>(keys.size());
        const auto sorted = this->array(keys);
        const auto carried = this->array(values);
        primitives::sort_pairs(this->place(), sorted.span(), carried.span(), options);
        const auto expected = reference::sorted_pairs(keys, values, options.direction);
        RC_ASSERT(sorted.host() == expected.first);
        RC_ASSERT(carried.host() == expected.second);
    }));
    EXPECT_TRUE(rc::check("any floats", [&](const std::vector<double>& drawn, bool descending) {
        const sort_options options{.direction = descending ? order::descending : order::ascending};
        std::vector<float> keys;
        for (const double value : drawn) keys.push_back(std::isnan(value) ? 0.0f : static_cast<float>(value));
        const auto sorted = this->array(keys);
        primitives::sort_keys(this->place(), sorted.span(), options);
        RC_ASSERT(stored_bits(sorted.host()) == stored_bits(reference::sorted_keys(keys, options.direction)));
    }));
}

/// The order of keys, defined again as a number: compared with the language's comparison.
TEST(keys_test, ordered_bits_keep_the_order) {
    for_each_key_type([&]<class Key>(Key) {
        const auto keys = random_values<Key>(400, 11, 3);
        for (const Key a : keys) {
            for (const Key b : keys) {
                ASSERT_EQ(a < b, primitives::ordered_bits(a) < primitives::ordered_bits(b)) << a << ' ' << b;
                ASSERT_EQ(a == b, primitives::ordered_bits(a) == primitives::ordered_bits(b))
                    << a << ' ' << b;
                ASSERT_EQ(a > b, primitives::ordered_bits(a, order::descending) <
                                     primitives::ordered_bits(b, order::descending));
            }
        }
    });
}

TEST(keys_test, ends_of_the_line_of_floats) {
    using limits = std::numeric_limits<float>;
    EXPECT_LT(primitives::ordered_bits(-limits::infinity()), primitives::ordered_bits(limits::lowest()));
    EXPECT_LT(primitives::ordered_bits(-limits::denorm_min()), primitives::ordered_bits(-0.0f));
    EXPECT_EQ(primitives::ordered_bits(-0.0f), primitives::ordered_bits(0.0f));
    EXPECT_LT(primitives::ordered_bits(0.0f), primitives::ordered_bits(limits::denorm_min()));
    EXPECT_LT(primitives::ordered_bits(limits::max()), primitives::ordered_bits(limits::infinity()));
}

TEST(cpu_sort_test, stops_when_requested) {
    const std::atomic<int> stop{2};
    context ctx = context::cpu(2);
    ctx.stop_signal = &stop;
    cpu_place place(ctx);
    auto keys = random_values<float>(large_size(), 1);
    EXPECT_THROW(primitives::sort_keys(place, std::span(keys)), interrupted);
}

TEST(cpu_sort_test, says_what_memory_it_needs) {
    context ctx = context::cpu(1);
    ctx.memory_bytes = 1 << 20;
    cpu_place place(ctx);
    auto keys = random_values<float>(3'000'000, 1);
    const auto before = keys;
    EXPECT_THROW(primitives::sort_keys(place, std::span(keys)), out_of_memory);
    EXPECT_TRUE(stored_bits(keys) == stored_bits(before));
    EXPECT_EQ(place.memory().used(), 0u);
}

TEST(cpu_sort_test, fewer_threads_sort_where_memory_is_scarce) {
    context ctx = context::cpu(8);
    const auto keys = random_values<std::uint64_t>(400'000, 5);
    ctx.memory_bytes = 400'000 * sizeof(std::uint64_t) + (7 << 20);  // of a copy, and of one thread or two
    cpu_place place(ctx);
    auto sorted = keys;
    primitives::sort_keys(place, std::span(sorted));
    auto expected = keys;
    std::ranges::sort(expected);
    EXPECT_TRUE(sorted == expected);
    EXPECT_EQ(place.memory().used(), 0u);
}

TEST(cpu_sort_test, the_same_bits_for_any_number_of_threads) {
    const auto keys = random_values<float>(large_size(), 77, 2);
    const auto values = distinct_values<std::uint64_t>(keys.size());
    std::vector<float> first_keys;
    std::vector<std::uint64_t> first_values;
    for (const unsigned threads : {1u, 2u, 5u}) {
        cpu_place place(context::cpu(threads));
        auto sorted = keys;
        auto carried = values;
        primitives::sort_pairs(place, std::span(sorted), std::span(carried));
        if (threads == 1) {
            first_keys = sorted;
            first_values = carried;
        }
        EXPECT_TRUE(stored_bits(sorted) == stored_bits(first_keys)) << threads;
        EXPECT_TRUE(carried == first_values) << threads;
    }
}

}  // namespace
}  // namespace quern::sort_test
