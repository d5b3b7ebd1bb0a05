// SPDX-License-Identifier: Apache-2.0
// Sparse products large enough to use every division of work on a place, and the formats that add as printed in their
// papers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "on_each_place.hpp"
#include "primitives/sparse/by_format.hpp"
#include "primitives/sparse/exact_sum.hpp"
#include "primitives/sparse_cases.hpp"
#include "quern/base/error.hpp"

namespace quern::sparse_large_test {
namespace {

template <class Value>
std::vector<Value> summed_exactly(const sparse_case<Value>& tested) {
    std::vector<Value> sums;
    for (std::uint32_t i = 0; i < tested.rows(); ++i) {
        primitives::exact_sum<Value> sum;
        for (std::uint64_t e = tested.offsets[i]; e < tested.offsets[i + 1]; ++e)
            sum.add_product(tested.value[e], tested.x[tested.column[e]]);
        sums.push_back(sum.rounded());
    }
    return sums;
}

/// Rows of every length up to `longest`, few of them long; in one of 16 all sums are exactly zero or midpoints.
template <class Value>
sparse_case<Value> mixed_lengths(std::size_t entries, std::uint64_t longest, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    sparse_case<Value> made;
    made.columns = 20'000;
    add_row(made, longest, sparse_values::ordinary, random);
    while (made.column.size() < entries) {
        const std::uint64_t drawn = 1 + random() % 100'000;
        const std::uint64_t length = std::min<std::uint64_t>(longest, 200'000 / drawn);
        const bool hard = random() % 16 == 0;
        add_row(made, length, hard ? sparse_values::cancelling : sparse_values::ordinary, random);
    }
    for (std::uint32_t j = 0; j < made.columns; ++j) {
        const auto kind = random() % 8 == 0 ? sparse_values::cancelling : sparse_values::ordinary;
        made.x.push_back(sparse_value<Value>(kind, random));
    }
    return made;
}

template <class Tested>
class sparse_large_test : public on_place<Tested> {
  protected:
    template <class Value, class Matrix>
    std::vector<Value> product(Matrix matrix, const sparse_case<Value>& tested) {
        const auto x = this->array(tested.x);
        const auto y = this->template output<Value>(tested.rows());
        primitives::multiply(this->place(), primitives::to_place(this->place(), std::move(matrix)), x.view(),
                             y.span());
        return y.host();
    }
    template <class Value>
    void expect_same(const std::vector<Value>& found, const std::vector<Value>& expected,
                     const char* format) {
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            ASSERT_EQ(std::memcmp(&found[i], &expected[i], sizeof(Value)), 0)
                << format << ", row " << i << ": " << found[i] << " instead of " << expected[i];
        }
    }
    template <class Value>
    void expect_exact(const sparse_case<Value>& tested) {
        cpu_place host(context::cpu(2));
        const auto expected = summed_exactly(tested);
        expect_same(product(primitives::to_csr(host, tested.view()), tested), expected, "csr");
        expect_same(product(primitives::to_coo(host, tested.view()), tested), expected, "coo");
        expect_same(product(primitives::to_brcp(host, tested.view()), tested), expected, "brcp");
    }
};
TYPED_TEST_SUITE(sparse_large_test, tested_places, tested_place_names);

TYPED_TEST(sparse_large_test, long_rows_among_many_short_ones) {
    const std::size_t entries = large_size();
    this->expect_exact(mixed_lengths<float>(entries, entries / 4, 3));
    this->expect_exact(mixed_lengths<double>(entries, entries / 4, 4));
}

TYPED_TEST(sparse_large_test, few_long_rows) {
    std::mt19937_64 random(5);
    sparse_case<float> made;
    made.columns = 5000;
    for (int i = 0; i < 40; ++i) add_row(made, large_size() / 80, sparse_values::ordinary, random);
    for (std::uint32_t j = 0; j < made.columns; ++j)
        made.x.push_back(sparse_value<float>(sparse_values::ordinary, random));
    this->expect_exact(made);
    cpu_place host(context::cpu(2));
    this->expect_same(this->product(primitives::to_ell(host, made.view()), made), summed_exactly(made),
                      "ell");
}

TYPED_TEST(sparse_large_test, formats_as_printed_are_close) {
    std::vector<std::uint64_t> lengths;
    for (std::uint64_t n = 0; n < 3000; ++n) lengths.push_back(n % 90 + (n % 700 == 0 ? 900 : 0));
    sparse_case<double> tested = sparse_case_of<double>("positive", 800, lengths, sparse_values::ordinary, 9);
    for (double& value : tested.value) value = std::fabs(value) + 0.5;
    for (double& x : tested.x) x = std::fabs(x) + 0.5;
    cpu_place host(context::cpu(2));
    const auto exact = summed_exactly(tested);
    const auto brc = this->product(primitives::to_brc(host, tested.view()), tested);
    const auto x = this->array(tested.x);
    const auto y = this->template output<double>(tested.rows());
    primitives::multiply_as_printed(
        this->place(), primitives::to_place(this->place(), primitives::to_brcp(host, tested.view())),
        x.view(), y.span());
    const auto brcp = y.host();
    for (std::size_t i = 0; i < exact.size(); ++i) {
        EXPECT_NEAR(brc[i], exact[i], 1e-12 * exact[i]) << i;
        EXPECT_NEAR(brcp[i], exact[i], 1e-10) << i;  // the error grows with the sums of its warp
    }
}

TYPED_TEST(sparse_large_test, refuses_vectors_that_do_not_fit) {
    cpu_place host(context::cpu(1));
    const sparse_case<float> tested =
        sparse_case_of<float>("square", 50, std::vector<std::uint64_t>(50, 2), sparse_values::ordinary, 1);
    const auto matrix = primitives::to_place(this->place(), primitives::to_csr(host, tested.view()));
    const auto x = this->array(tested.x);
    const auto y = this->template output<float>(49);
    EXPECT_THROW(primitives::multiply(this->place(), matrix, x.view(), y.span()), usage_error);
    EXPECT_THROW(primitives::multiply(this->place(), matrix, x.view().first(49), x.span()), usage_error);
    EXPECT_THROW(primitives::multiply(this->place(), matrix, x.view(), x.span()), usage_error);
}

}  // namespace
}  // namespace quern::sparse_large_test
