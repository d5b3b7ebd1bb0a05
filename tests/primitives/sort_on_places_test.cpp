// SPDX-License-Identifier: Apache-2.0
// Sorting by one, two and three places against std::stable_sort.
#include "primitives/sort/sort_on_places.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "reference/sort_reference.hpp"
#include "several_places.hpp"
#include "sort_data.hpp"

namespace quern::sort_on_places_test {
namespace {

using primitives::order;
using reference::stored_bits;

template <class Tested>
class sort_on_places : public on_place<Tested> {
  protected:
    static chosen_device chosen(std::size_t count) {
        chosen_device all = choose_device(Tested::ctx(), "this test");
        all.more = further_places(all, count - 1);
        return all;
    }
    template <class Key>
    void expect_sorted(const std::vector<Key>& keys, const std::string& what) {
        for (const order direction : {order::ascending, order::descending}) {
            const auto values = distinct_values<std::uint32_t>(keys.size());
            const auto [expected_keys, expected_values] = reference::sorted_pairs(keys, values, direction);
            for (const std::size_t count : {1u, 2u, 3u}) {
                place_set places(Tested::ctx(), chosen(count));
                auto sorted_keys = keys;
                auto sorted_values = values;
                primitives::sort_pairs<Key, std::uint32_t>(places, sorted_keys, sorted_values, direction);
                const std::string about = what + ": " + std::to_string(keys.size()) + " of " +
                                          type_name<Key>() + ", " + direction_name(direction) + ", " +
                                          std::to_string(count) + " places";
                EXPECT_TRUE(stored_bits(sorted_keys) == stored_bits(expected_keys)) << "keys, " << about;
                EXPECT_TRUE(sorted_values == expected_values) << "values, " << about;
            }
        }
    }
};
TYPED_TEST_SUITE(sort_on_places, tested_places, tested_place_names);

TYPED_TEST(sort_on_places, match_a_stable_sort) {
    for (const std::size_t size : {0u, 1u, 2u, 3u, 33u, 4097u, 20'011u}) {
        if (tested_with().small_sizes && size > 5000) continue;
        for_each_key_type([&]<class Key>(Key) {
            std::mt19937_64 random(size);
            std::vector<Key> any(size), few(size), same(size, Key{7}), rising(size);
            for (std::size_t i = 0; i < size; ++i) {
                any[i] = static_cast<Key>(static_cast<std::int64_t>(random()) >> random() % 60);
                few[i] = static_cast<Key>(random() % 5);
                rising[i] = static_cast<Key>(i);
            }
            this->expect_sorted(any, "any keys");
            if (size > 4097 && sizeof(Key) == 8) return;
            this->expect_sorted(few, "few keys");
            this->expect_sorted(same, "one key");
            this->expect_sorted(rising, "sorted keys");
        });
    }
}

TYPED_TEST(sort_on_places, zeros_keep_their_signs) {
    std::vector<double> keys(1000);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i % 3 == 0 ? -0.0 : i % 3 == 1 ? 0.0 : -1.0;
    this->expect_sorted(keys, "zeros");
}

TYPED_TEST(sort_on_places, the_first_key_that_is_no_number_is_refused) {
    std::vector<float> keys(5000, 1);
    std::vector<std::uint32_t> values(keys.size());
    keys[4001] = keys[3001] = std::numeric_limits<float>::quiet_NaN();
    place_set places(TypeParam::ctx(), TestFixture::chosen(2));
    try {
        primitives::sort_pairs<float, std::uint32_t>(places, keys, values);
        FAIL();
    } catch (const invalid_value& e) {
        EXPECT_STREQ(e.what(), "key 3001 is not a number");
    }
    values.pop_back();
    EXPECT_THROW((primitives::sort_pairs<float, std::uint32_t>(places, keys, values)), usage_error);
}

}  // namespace
}  // namespace quern::sort_on_places_test
