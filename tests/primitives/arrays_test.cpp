// SPDX-License-Identifier: Apache-2.0
// The base of every other test of this folder: arrays copied to a place and back are unchanged.
#include <numeric>
#include <random>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"

namespace quern::arrays_test {
namespace {

template <class Tested>
class arrays_test : public on_place<Tested> {};
TYPED_TEST_SUITE(arrays_test, tested_places, tested_place_names);

TYPED_TEST(arrays_test, come_back_as_they_went) {
    for (const std::size_t n : test_sizes()) {
        const auto values = random_values<std::uint32_t>(n, n);
        EXPECT_EQ(this->array(values).host(), values) << n;
    }
}

TYPED_TEST(arrays_test, count_against_the_budget) {
    auto& budget = this->place().memory();
    const std::uint64_t before = budget.used();
    {
        const auto made = make_array<double>(this->place(), 1000);
        EXPECT_EQ(budget.used(), before + 8000);
    }
    EXPECT_EQ(budget.used(), before);
    EXPECT_THROW(make_array<char>(this->place(), budget.limit() + 1), out_of_memory);
    EXPECT_EQ(budget.used(), before);
}

}  // namespace
}  // namespace quern::arrays_test
