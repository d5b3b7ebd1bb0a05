// SPDX-License-Identifier: Apache-2.0
// Sorting within segments against std::stable_sort of each: segments of every size together, because the method depends on
// the size; and offsets that are rejected.
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <limits>
#include <numeric>
#include <random>

#include "on_each_place.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/base/error.hpp"
#include "reference/sort_reference.hpp"
#include "sort_data.hpp"

namespace quern::segmented_sort_test {
namespace {

using primitives::order;
using primitives::sort_options;
using reference::stored_bits;
using offsets_type = std::vector<std::uint64_t>;

offsets_type offsets_of(const std::vector<std::size_t>& sizes) {
    offsets_type offsets{0};
    for (const std::size_t size : sizes) offsets.push_back(offsets.back() + size);
    return offsets;
}

struct hard_segments {
    std::string name;
    offsets_type offsets;
};

std::vector<hard_segments> all_hard_segments() {
    std::mt19937_64 random(8);
    const bool small = tested_with().small_sizes;
    std::vector<hard_segments> all;
    all.push_back({"no offsets", {}});
    all.push_back({"no segments", {0}});
    all.push_back({"empty segments", offsets_type(100, 0)});
    all.push_back({"one segment", offsets_of({small ? 3001u : 200'003u})});
    std::vector<std::size_t> sizes(small ? 150 : 700);
    std::iota(sizes.begin(), sizes.end(), std::size_t{0});
    all.push_back({"every size", offsets_of(sizes)});
    sizes.assign(small ? 2000 : 1'000'000, 0);
    for (auto& size : sizes) size = random() % 4;
    all.push_back({"many tiny ones", offsets_of(sizes)});
    sizes.assign(small ? 300 : 20'000, 0);
    for (auto& size : sizes) size = random() % 3 == 0 ? random() % 70 : random() % 5;
    sizes[sizes.size() / 2] = small ? 20'000 : 1'500'000;
    all.push_back({"a giant among tiny ones", offsets_of(sizes)});
    sizes.clear();
    for (const std::size_t size : test_sizes()) sizes.insert(sizes.end(), {size, 0, 1});
    all.push_back({"boundaries", offsets_of(sizes)});
    sizes.assign(small ? 10 : 300, 0);
    for (auto& size : sizes) size = 900 + random() % 3000;
    all.push_back({"middling ones", offsets_of(sizes)});
    return all;
}

template <class Tested>
class segmented_sort_test : public on_place<Tested> {
  protected:
    template <class Value, class Key>
    void expect_pairs_sorted(const std::vector<Key>& keys, const offsets_type& offsets, sort_options options,
                             const std::string& what) {
        const auto values = distinct_values<Value>(keys.size());
        auto sorted = this->array(keys);
        auto carried = this->array(values);
        const auto bounds = this->array(offsets);
        primitives::segmented_sort_pairs(this->place(), sorted.span(), carried.span(), bounds.view(),
                                         options);
        const auto [expected_keys, expected_values] =
            reference::segments_sorted(keys, values, offsets, options.direction);
        EXPECT_TRUE(stored_bits(sorted.host()) == stored_bits(expected_keys)) << "keys of " << what;
        EXPECT_TRUE(carried.host() == expected_values) << "values of " << what;
    }

    template <class Key>
    void expect_keys_sorted(const std::vector<Key>& keys, const offsets_type& offsets, sort_options options,
                            const std::string& what) {
        auto sorted = this->array(keys);
        const auto bounds = this->array(offsets);
        primitives::segmented_sort_keys(this->place(), sorted.span(), bounds.view(), options);
        const auto expected = reference::segments_sorted(keys, keys, offsets, options.direction).first;
        EXPECT_TRUE(stored_bits(sorted.host()) == stored_bits(expected)) << "keys alone of " << what;
    }

    void expect_refused_offsets(std::size_t items, const offsets_type& offsets, std::uint64_t segment) {
        const auto refused = [&](const auto& sort) {
            try {
                sort();
                this->place().synchronise();
                ADD_FAILURE() << "offsets were accepted that are wrong at segment " << segment;
            } catch (const invalid_value& e) {
                EXPECT_EQ(e.position(), segment);
                EXPECT_THAT(e.what(), ::testing::HasSubstr("offsets"));
            }
        };
        refused([&] {
            auto keys = this->array(std::vector<float>(items, 1.0f));
            const auto bounds = this->array(offsets);
            primitives::segmented_sort_keys(this->place(), keys.span(), bounds.view());
            this->place().synchronise();
        });
        refused([&] {
            auto keys = this->array(std::vector<std::uint64_t>(items, 1));
            auto values = this->array(distinct_values<std::uint32_t>(items));
            const auto bounds = this->array(offsets);
            primitives::segmented_sort_pairs(this->place(), keys.span(), values.span(), bounds.view());
            this->place().synchronise();
        });
    }
};
TYPED_TEST_SUITE(segmented_sort_test, tested_places, tested_place_names);

TYPED_TEST(segmented_sort_test, matches_reference_on_every_mixture_of_sizes) {
    for (const auto& [name, offsets] : all_hard_segments()) {
        const std::size_t n = offsets.empty() ? 0 : offsets.back();
        for (const order direction : {order::ascending, order::descending}) {
            const std::string what = name + ", " + direction_name(direction);
            const auto keys = random_values<float>(n, n, 3);
            this->template expect_pairs_sorted<std::uint32_t>(keys, offsets, {.direction = direction}, what);
            this->expect_keys_sorted(keys, offsets, {.direction = direction}, what);
        }
    }
}

// A segment that a GPU sorts as a separate array (from 2²² 32-bit keys on), among all other kinds.
TYPED_TEST(segmented_sort_test, matches_reference_with_a_giant) {
    if (tested_with().small_sizes) GTEST_SKIP() << "large";
    const auto offsets = offsets_of({3, 4'200'000, 0, 70, 5000, 1, 4'194'303});
    const auto keys = random_values<float>(offsets.back(), 11, 3);
    this->template expect_pairs_sorted<std::uint32_t>(keys, offsets, {.direction = order::descending},
                                                      "a giant");
    this->expect_keys_sorted(keys, offsets, {}, "a giant");
}

TYPED_TEST(segmented_sort_test, matches_reference_for_every_type) {
    std::vector<std::size_t> sizes(160);
    std::iota(sizes.begin(), sizes.end(), std::size_t{0});
    sizes.insert(sizes.end(), {tested_with().small_sizes ? 5000u : 60'000u, 3, 0, 1000});
    const auto offsets = offsets_of(sizes);
    for_each_key_type([&]<class Key>(Key) {
        for (const unsigned ties : {4u, 1u}) {
            const auto keys = random_values<Key>(offsets.back(), 17, ties);
            const order direction = ties == 1 ? order::descending : order::ascending;
            const std::string what = type_name<Key>();
            this->expect_keys_sorted(keys, offsets, {.direction = direction}, what);
            this->template expect_pairs_sorted<std::uint32_t>(keys, offsets, {.direction = direction}, what);
            this->template expect_pairs_sorted<std::uint64_t>(keys, offsets, {.direction = direction}, what);
        }
    });
}

TYPED_TEST(segmented_sort_test, matches_reference_on_hard_data) {
    std::mt19937_64 random(4);
    const std::size_t n = tested_with().small_sizes ? 4000 : 150'000;
    std::vector<std::size_t> sizes;
    for (std::size_t taken = 0; taken < n;) {
        const std::size_t max = n - taken;
        const std::size_t size =
            std::min<std::size_t>(max, random() % 8 == 0 ? random() % 9000 : random() % 40);
        sizes.push_back(size);
        taken += size;
    }
    const auto offsets = offsets_of(sizes);
    for_each_key_type([&]<class Key>(Key) {
        for (const hard_data<Key>& data : hard_keys<Key>(n))
            this->template expect_pairs_sorted<std::uint32_t>(data.keys, offsets, {},
                                                              data.name + " " + type_name<Key>());
    });
}

TYPED_TEST(segmented_sort_test, looks_at_no_more_bits_than_keys_have) {
    std::mt19937_64 random(5);
    const auto offsets = offsets_of({3, 40, 0, 700, 9000, 1, 30'000});
    for (const unsigned bits : {1u, 9u, 17u, 24u, 40u}) {
        std::vector<std::uint64_t> keys(offsets.back());
        for (auto& key : keys) key = random() >> (64 - bits);
        this->template expect_pairs_sorted<std::uint32_t>(keys, offsets, {.key_bits = bits},
                                                          std::to_string(bits) + " bits");
    }
}

TYPED_TEST(segmented_sort_test, refuses_not_a_number_and_names_the_first) {
    const auto offsets = offsets_of({3, 0, 50, 4000, 1, 1, 200'000, 7});
    const std::size_t n = offsets.back();
    for (const std::size_t first :
         {std::size_t{0}, std::size_t{52}, std::size_t{53}, std::size_t{4052}, n / 2, n - 1}) {
        auto keys = random_values<double>(n, 6);
        keys[first] = std::numeric_limits<double>::quiet_NaN();
        keys[n - 1] = std::numeric_limits<double>::quiet_NaN();
        expect_refused_key(first, [&] {
            auto refused = this->array(keys);
            auto ids = this->array(distinct_values<std::uint32_t>(n));
            const auto bounds = this->array(offsets);
            primitives::segmented_sort_pairs(this->place(), refused.span(), ids.span(), bounds.view());
            this->place().synchronise();
        });
    }
}

TYPED_TEST(segmented_sort_test, refuses_offsets_that_do_not_rise_from_0_to_the_size) {
    this->expect_refused_offsets(10, {1, 5, 10}, 0);      // does not begin at 0
    this->expect_refused_offsets(10, {0, 5, 4, 10}, 1);   // falls
    this->expect_refused_offsets(10, {0, 5, 11, 10}, 1);  // beyond the items, and back
    this->expect_refused_offsets(10, {0, 5, 9}, 1);       // leaves one over
    this->expect_refused_offsets(10, {0, 5, 7, 11}, 2);   // one too many
    this->expect_refused_offsets(10, {0}, 0);             // no segment for ten items
    this->expect_refused_offsets(10, {}, 0);              // nor here
    this->expect_refused_offsets(0, {0, 0, 3}, 1);        // no items
    offsets_type many(500'001);
    std::iota(many.begin(), many.end(), std::uint64_t{0});
    many[400'000] = 3;  // two faults: the first is reported
    many[123'457] = 123'455;
    this->expect_refused_offsets(500'000, many, 123'456);
}

TYPED_TEST(segmented_sort_test, refuses_offsets_before_it_looks_at_keys) {
    auto keys = this->array(std::vector<float>(10, std::numeric_limits<float>::quiet_NaN()));
    const auto offsets = this->array(offsets_type{0, 7, 3, 10});
    try {
        primitives::segmented_sort_keys(this->place(), keys.span(), offsets.view());
        this->place().synchronise();
        FAIL() << "wrong offsets and keys were accepted";
    } catch (const invalid_value& e) {
        EXPECT_EQ(e.position(), 1u) << e.what();
    }
}

TYPED_TEST(segmented_sort_test, refuses_values_of_another_number) {
    auto keys = this->array(std::vector<float>(5, 1.0f));
    auto values = this->array(std::vector<std::uint32_t>(4));
    const auto offsets = this->array(offsets_type{0, 5});
    try {
        primitives::segmented_sort_pairs(this->place(), keys.span(), values.span(), offsets.view());
        FAIL() << "four values for five keys";
    } catch (const usage_error& e) {
        EXPECT_STREQ(e.what(), "segmented_sort_pairs: values has 4 entries, but keys has 5");
    }
}

TYPED_TEST(segmented_sort_test, properties) {
    using lists = std::vector<std::vector<std::uint32_t>>;
    EXPECT_TRUE(rc::check("any segments", [&](const lists& segments, bool descending) {
        std::vector<std::uint32_t> keys;
        offsets_type offsets{0};
        for (const auto& segment : segments) {
            keys.insert(keys.end(), segment.begin(), segment.end());
            offsets.push_back(keys.size());
        }
        const sort_options options{.direction = descending ? order::descending : order::ascending};
        const auto values = distinct_values<std::uint64_t>(keys.size());
        const auto sorted = this->array(keys);
        const auto carried = this->array(values);
        const auto bounds = this->array(offsets);
        primitives::segmented_sort_pairs(this->place(), sorted.span(), carried.span(), bounds.view(),
                                         options);
        const auto expected = reference::segments_sorted(keys, values, offsets, options.direction);
        RC_ASSERT(sorted.host() == expected.first);
        RC_ASSERT(carried.host() == expected.second);
    }));
}

}  // namespace
}  // namespace quern::segmented_sort_test
