// SPDX-License-Identifier: Apache-2.0
// Single rows whose sums are wrong when added in any simple way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "primitives/sparse_products.hpp"
#include "quern/base/error.hpp"
#include "reference/sparse_reference.hpp"

namespace quern::sparse_hostile_test {
namespace {

using primitives::sparse_format;

/// Rows of factors: every row has its own columns.
template <class Value>
struct factor_rows {
    sparse_case<Value> made;
    std::vector<Value> expected;

    void add(const std::vector<Value>& a, const std::vector<Value>& x, Value sum) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            made.column.push_back(static_cast<std::uint32_t>(made.x.size()));
            made.value.push_back(a[i]);
            made.x.push_back(x[i]);
        }
        made.columns = static_cast<std::uint32_t>(made.x.size());
        made.offsets.push_back(made.column.size());
        expected.push_back(sum);
    }
    void add(const std::vector<Value>& a, Value sum) { add(a, std::vector<Value>(a.size(), 1), sum); }
};

/// The factors with zeros between them, so that a single lane of a vector gets them all.
template <class Value>
std::vector<Value> spaced(const std::vector<Value>& factors) {
    std::vector<Value> made(32 * factors.size());
    for (std::size_t i = 0; i < factors.size(); ++i) made[32 * i] = factors[i];
    return made;
}

template <class Tested>
class sparse_hostile_test : public on_sparse_place<Tested> {};
TYPED_TEST_SUITE(sparse_hostile_test, tested_places, tested_place_names);

template <class Value>
factor_rows<Value> hostile_rows() {
    using limits = std::numeric_limits<Value>;
    constexpr Value infinity = limits::infinity(), max = limits::max(), least = limits::denorm_min(),
                    normal = limits::min(), none = limits::quiet_NaN(), step = limits::epsilon();
    const Value far = std::is_same_v<Value, float> ? Value(1e30) : Value(1e300);
    factor_rows<Value> rows;
    rows.add({far, 1, -far}, 1);
    rows.add({1, far, -far, -1}, 0);
    rows.add({far, far, 1, -far, -far}, 1);
    rows.add({max, max, -max}, max);
    rows.add({max, max, -max, -max, 3}, 3);
    rows.add({max, max}, {max, -max}, 0);  // products beyond the range of Value
    rows.add({max, max, 7}, {max, -max, 1}, 7);
    rows.add({max, max}, infinity);
    rows.add({-max, -max}, -infinity);
    // The minimum sum that rounds to infinity, and the value just below it.
    const Value half_step = static_cast<Value>(std::ldexp(max, -limits::digits - 2));
    rows.add({max, static_cast<Value>(std::ldexp(Value(1), limits::max_exponent - limits::digits - 1))},
             infinity);
    rows.add({max, half_step, half_step}, max);
    // Midpoints: to even, and the smallest distance away from it.
    rows.add({1, step / 2}, 1);
    rows.add({1 + step, step / 2}, 1 + 2 * step);
    rows.add({1, step / 2, least}, 1 + step);
    rows.add({1, step / 2, -least}, 1);
    rows.add({1 + step, step / 2, -least}, 1 + step);
    rows.add({1, step / 2, normal, -normal}, 1);
    rows.add({-1, -step / 2, -least}, -1 - step);
    rows.add({1, step / 2, 1}, {1, 1, least * least}, 1);
    // More intermediate digits than two doubles hold.
    for (const Value nudge : {Value(0x1p-60), Value(-0x1p-60), Value(0)}) {
        const Value tall = std::is_same_v<Value, float> ? Value(0x1p100) : Value(0x1p200);
        const Value expected = nudge > 0 ? 1 + step : 1;
        rows.add(spaced<Value>({tall, 1, step / 2, nudge * step, -tall}), expected);
        rows.add({tall, 1, step / 2, nudge * step, -tall}, expected);
        rows.add(spaced<Value>({-1, tall, -step / 2, -nudge * step, -tall}), -expected);
    }
    // Subnormal sums, and sums of products below the minimum subnormal.
    rows.add({normal, -normal, least}, least);
    rows.add({normal, -least}, normal - least);
    rows.add({least}, {Value(0.5)}, 0);
    rows.add({-least}, {Value(0.5)}, -Value(0));
    rows.add({least, least}, {Value(0.5), Value(0.5)}, least);
    rows.add({least, least, least}, {Value(0.5), Value(0.5), Value(0.5)}, 2 * least);
    rows.add({normal}, {Value(0.75)}, normal * Value(0.75));
    rows.add({least, normal}, {least, normal}, 0);
    rows.add({least, -normal}, {least, normal}, -Value(0));
    rows.add(std::vector<Value>(1000, least), std::vector<Value>(1000, Value(0.5)), 500 * least);
    // Zeros of both signs.
    rows.add({-Value(0)}, 0);
    rows.add({-Value(0), -Value(0)}, 0);
    rows.add({1, -1}, 0);
    rows.add({}, 0);
    rows.add({0, 0, 0}, {max, least, 1}, 0);
    // Non-finite values.
    rows.add({infinity}, infinity);
    rows.add({-infinity, max, max}, -infinity);
    rows.add({infinity, 1, infinity}, infinity);
    rows.add({infinity, -infinity}, none);
    rows.add({infinity}, {0}, none);
    rows.add({0}, {-infinity}, none);
    rows.add({none, 1}, none);
    rows.add({-none}, none);
    rows.add({1, 1}, {1, none}, none);
    rows.add({max, infinity}, {-max, -1}, -infinity);
    rows.add({max, max, max, max}, infinity);
    rows.add({1, 2, 3}, 6);
    return rows;
}

TYPED_TEST(sparse_hostile_test, rows_that_are_hard_to_add) {
    const auto check = [this]<class Value>(factor_rows<Value> rows) {
        EXPECT_EQ(bits_of(reference::sparse_product(rows.made.view(), rows.made.x)), bits_of(rows.expected));
        this->expect_exact(rows.made);
    };
    check(hostile_rows<float>());
    check(hostile_rows<double>());
}

/// The same row in any order of its entries, with any partition of the others around it.
TYPED_TEST(sparse_hostile_test, order_does_not_show) {
    std::mt19937_64 random(3);
    for (const sparse_values kind : all_sparse_values) {
        auto one = sparse_case_of<float>("one row", 300, {2000}, kind, 17);
        const float first = this->product(sparse_format::csr, one.view(), one.x).at(0);
        for (int i = 0; i < 5; ++i) {
            std::vector<std::size_t> order(one.column.size());
            for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
            std::shuffle(order.begin(), order.end(), random);
            auto shuffled = one;
            for (std::size_t k = 0; k < order.size(); ++k) {
                shuffled.column[k] = one.column[order[k]];
                shuffled.value[k] = one.value[order[k]];
            }
            for (const sparse_format format : exact_formats)
                EXPECT_EQ(bits_of(this->product(format, shuffled.view(), one.x)),
                          bits_of(std::vector<float>{first}));
        }
    }
}

/// Sums halfway between two Values, or next to it: a bound alone never settles these.
template <class Value>
sparse_case<Value> midpoints(std::size_t rows) {
    std::mt19937_64 random(23);
    sparse_case<Value> made;
    made.name = "midpoints";
    made.columns = 64;
    for (std::uint32_t j = 0; j < made.columns; ++j) made.x.push_back(1);
    constexpr int digits = std::numeric_limits<Value>::digits;
    const Value nudges[] = {0, 0, 1, -1};
    for (std::size_t i = 0; i < rows; ++i) {
        const auto odd =
            static_cast<Value>(std::ldexp(1.0, digits) + 2 * static_cast<double>(random() % 1000));
        const auto nudge = static_cast<Value>(std::ldexp(nudges[random() % 4], -60));
        for (const Value value : {odd, Value(1), nudge, Value(5), Value(-5)}) {
            made.column.push_back(static_cast<std::uint32_t>(random() % made.columns));
            made.value.push_back(value);
        }
        made.offsets.push_back(made.column.size());
    }
    return made;
}

TYPED_TEST(sparse_hostile_test, midpoints_go_to_even) {
    this->expect_exact(midpoints<float>(3000));
    this->expect_exact(midpoints<double>(3000));
}

TYPED_TEST(sparse_hostile_test, vectors_of_another_size_are_refused) {
    const auto one = sparse_case_of<float>("one", 5, {2, 3}, sparse_values::ordinary, 1);
    const auto x = this->array(std::vector<float>(5));
    const auto y = this->template output<float>(2);
    for (const sparse_format format : {sparse_format::coo, sparse_format::csr, sparse_format::ell,
                                       sparse_format::brc, sparse_format::brcp}) {
        this->in_format(format, one.view(), [&](const auto& matrix) {
            EXPECT_THROW(primitives::multiply(this->place(), matrix, x.view().first(4), y.span()),
                         usage_error);
            EXPECT_THROW(primitives::multiply(this->place(), matrix, x.view(), y.span().first(1)),
                         usage_error);
            EXPECT_THROW(primitives::multiply(this->place(), matrix, x.view(), x.span().first(2)),
                         usage_error);
        });
    }
}

TYPED_TEST(sparse_hostile_test, properties) {
    EXPECT_TRUE(rc::check("every format gives the exact sum, rounded", [&] {
        const auto lengths =
            *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 80));
        const auto kind =
            *rc::gen::elementOf(std::vector(std::begin(all_sparse_values), std::end(all_sparse_values)));
        const auto seed = *rc::gen::arbitrary<std::uint64_t>();
        const auto columns = *rc::gen::inRange<std::uint32_t>(1, 60);
        const auto check = [&]<class Value>(const sparse_case<Value>& tested) {
            const auto expected = bits_of(reference::sparse_product(tested.view(), tested.x));
            for (const sparse_format format : exact_formats)
                RC_ASSERT(bits_of(this->product(format, tested.view(), tested.x)) == expected);
        };
        check(sparse_case_of<float>("random", columns, lengths, kind, seed));
        check(sparse_case_of<double>("random", columns, lengths, kind, seed));
    }));
}

}  // namespace
}  // namespace quern::sparse_hostile_test
