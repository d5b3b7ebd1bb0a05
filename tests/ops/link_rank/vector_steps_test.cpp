// SPDX-License-Identifier: Apache-2.0
#include "ops/link_rank/papers/vector_steps.hpp"

#include <cmath>

#include "on_each_place.hpp"

namespace quern::vector_steps_test {
namespace {

using namespace link_rank_detail;

template <class Tested>
class vector_steps_test : public on_place<Tested> {
  protected:
    template <class Value>
    void expect_every_operation_rounded_once(std::size_t n, bool with_preference) {
        const rank_step step{0.85, 0x1.23456789abcdfp-20, 0.15000000000000002};
        const auto follow = static_cast<Value>(step.follow), each = static_cast<Value>(step.each),
                   prefer = static_cast<Value>(step.prefer);
        std::mt19937_64 random(n + 1);
        const auto some = [&] {
            std::vector<Value> values(n);
            for (Value& value : values)
                value = static_cast<Value>(std::ldexp(static_cast<double>(random() >> 11), -70));
            return values;
        };
        const std::vector<Value> products = some(), before = some();
        const std::vector<Value> preference = with_preference ? some() : std::vector<Value>();
        std::vector<std::uint8_t> dangling(n);
        for (std::uint8_t& is : dangling) is = random() % 4 == 0 ? 1 : 0;

        std::vector<Value> next(n), change(n), dangling_mass(n);
        for (std::size_t v = 0; v < n; ++v) {
            volatile Value sum = follow * products[v];  // volatile: rounded here, by any compiler
            sum = sum + each;
            if (with_preference) {
                volatile const Value personalised_share = prefer * preference[v];
                sum = sum + personalised_share;
            }
            next[v] = sum;
            change[v] = std::abs(next[v] - before[v]);
            dangling_mass[v] = dangling[v] != 0 ? next[v] : 0;
        }

        const auto given = this->array(products), personalised_share = this->array(preference);
        const auto ranks = this->array(before);
        const auto is_dangling = this->array(dangling);
        const auto changes = this->template output<Value>(n), losts = this->template output<Value>(n);
        take_rank_step(this->place(), step, given.view(), personalised_share.view(), is_dangling.view(),
                       ranks.span(), changes.span(), losts.span());
        EXPECT_EQ(ranks.host(), next) << n;
        EXPECT_EQ(changes.host(), change) << n;
        EXPECT_EQ(losts.host(), dangling_mass) << n;
    }
};
TYPED_TEST_SUITE(vector_steps_test, tested_places, tested_place_names);

TYPED_TEST(vector_steps_test, every_operation_is_rounded_once) {
    std::vector<std::size_t> sizes = test_sizes();
    sizes.push_back(large_size());
    for (const std::size_t n : sizes) {
        for (const bool with_preference : {false, true}) {
            this->template expect_every_operation_rounded_once<double>(n, with_preference);
            this->template expect_every_operation_rounded_once<float>(n, with_preference);
        }
    }
}

}  // namespace
}  // namespace quern::vector_steps_test
