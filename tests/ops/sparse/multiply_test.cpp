// SPDX-License-Identifier: Apache-2.0
// The public function y = A·x: every format, on every place, in both precisions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "on_each_place.hpp"
#include "primitives/sparse_cases.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/sparse.hpp"
#include "reference/sparse_reference.hpp"

namespace quern {
namespace {

constexpr sparse_storage all_storages[] = {
    sparse_storage::automatic, sparse_storage::coo,  sparse_storage::csr,       sparse_storage::ell,
    sparse_storage::brc,       sparse_storage::brcp, sparse_storage::brcp_paper};
bool rounds_once(sparse_storage storage) {
    return storage != sparse_storage::brc && storage != sparse_storage::brcp_paper;
}

template <class Value>
sparse_matrix_view<Value> view_of(const sparse_case<Value>& made) {
    return {made.rows(), made.columns, made.offsets, made.column, made.value};
}

template <class Tested>
class sparse_checks_test : public on_place<Tested> {
  protected:
    template <class Value>
    void expect_every_storage(const sparse_case<Value>& made) {
        const std::vector<Value> expected = reference::sparse_product(made.view(), made.x);
        for (const sparse_storage storage : all_storages) {
            SCOPED_TRACE(sparse_storage_names[static_cast<std::size_t>(storage)]);
            multiply_options options;
            options.storage = storage;
            options.repeat = 3;
            const auto found =
                multiply<Value>(view_of(made), std::span<const Value>(made.x), options, Tested::ctx());
            ASSERT_EQ(found.y.size(), expected.size());
            if (rounds_once(storage)) {
                EXPECT_TRUE(expected.empty() || std::memcmp(found.y.data(), expected.data(),
                                                            expected.size() * sizeof(Value)) == 0);
            } else {
                for (std::size_t i = 0; i < expected.size(); ++i)
                    EXPECT_NEAR(static_cast<double>(found.y[i]), static_cast<double>(expected[i]), 1e-3);
            }
            EXPECT_EQ(found.seconds.size(), 3u);
            EXPECT_GE(found.conversion_seconds, 0);
            EXPECT_GE(found.bytes, made.column.size() * (4 + sizeof(Value)));
            EXPECT_NE(found.storage, sparse_storage::automatic);
            if (storage != sparse_storage::automatic) {
                EXPECT_EQ(found.storage, storage);
            }
            EXPECT_THAT(found.place, testing::HasSubstr("requested"));
        }
    }
};
TYPED_TEST_SUITE(sparse_checks_test, tested_places, tested_place_names);

TYPED_TEST(sparse_checks_test, every_storage) {
    std::vector<std::uint64_t> lengths;
    for (std::uint64_t i = 0; i < 300; ++i) lengths.push_back(i * i % 19);
    this->expect_every_storage(sparse_case_of<float>("f32", 100, lengths, sparse_values::ordinary, 1));
    this->expect_every_storage(sparse_case_of<double>("f64", 100, lengths, sparse_values::ordinary, 2));
}

TYPED_TEST(sparse_checks_test, nothing) {
    this->expect_every_storage(sparse_case<float>{});
    this->expect_every_storage(sparse_case_of<double>("no entries", 3, {0, 0}, sparse_values::ordinary, 1));
    sparse_matrix_view<float> none;
    EXPECT_TRUE(multiply<float>(none, {}, {}, TypeParam::ctx()).y.empty());
}

TYPED_TEST(sparse_checks_test, refusals) {
    const auto made = sparse_case_of<float>("refused", 5, {2, 3, 40}, sparse_values::ordinary, 1);
    const auto product_of = [&](sparse_matrix_view<float> matrix, std::size_t x_size,
                                multiply_options options) {
        const std::vector<float> x(x_size, 1);
        return multiply<float>(matrix, std::span<const float>(x), options, TypeParam::ctx());
    };
    EXPECT_THAT([&] { product_of(view_of(made), 4, {}); },
                testing::ThrowsMessage<usage_error>("the vector has 4 values, but the matrix has 5 columns"));
    EXPECT_THROW(product_of(view_of(made), 5, {sparse_storage::csr, 0}), usage_error);
    auto cut = view_of(made);
    cut.value = cut.value.first(3);
    EXPECT_THROW(product_of(cut, 5, {}), usage_error);
    auto fewer = view_of(made);
    fewer.rows = 2;
    EXPECT_THROW(product_of(fewer, 5, {}), usage_error);
    auto narrow = view_of(made);
    narrow.columns = *std::max_element(made.column.begin(), made.column.end());
    EXPECT_THROW(product_of(narrow, narrow.columns, {}), invalid_value);
    const std::vector<std::uint64_t> falling{0, 5, 2, 45};
    auto wrong = view_of(made);
    wrong.offsets = falling;
    for (const sparse_storage storage : all_storages)
        EXPECT_THROW(product_of(wrong, 5, {storage, 1}), invalid_value);
    const auto padded =
        sparse_case_of<float>("padded", 5, {90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, sparse_values::ordinary, 1);
    EXPECT_THROW(product_of(view_of(padded), 5, {sparse_storage::ell, 1}), usage_error);
}

/// As in docs/primitives/sparse.md for a CPU.
TYPED_TEST(sparse_checks_test, automatic_looks_at_padding) {
    if (!std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of the CPU";
    const auto chosen = [&]<class Value>(const std::vector<std::uint64_t>& lengths, Value /*type*/) {
        const auto made = sparse_case_of<Value>("chosen", 100, lengths, sparse_values::ordinary, 1);
        return multiply<Value>(view_of(made), std::span<const Value>(made.x), {}, TypeParam::ctx()).storage;
    };
    const std::vector<std::uint64_t> alike(640, 12);
    std::vector<std::uint64_t> mixed, few;
    for (std::uint64_t i = 0; i < 1000; ++i) mixed.push_back(9 + i % 18);
    for (std::uint64_t i = 0; i < 3; ++i) few.push_back(20 * i);
    EXPECT_EQ(chosen(alike, 0.0F), sparse_storage::brcp);
    EXPECT_EQ(chosen(alike, 0.0), sparse_storage::brcp);
    EXPECT_EQ(chosen(mixed, 0.0F), sparse_storage::csr);
    EXPECT_EQ(chosen(mixed, 0.0), sparse_storage::ell);
    EXPECT_EQ(chosen(few, 0.0), sparse_storage::csr);
}

TYPED_TEST(sparse_checks_test, a_run_that_is_stopped_stops) {
    const std::atomic<int> stop{2};
    context ctx = TypeParam::ctx();
    ctx.stop_signal = &stop;
    const auto made = sparse_case_of<float>("stopped", 5, {2, 3}, sparse_values::ordinary, 1);
    EXPECT_THROW(multiply<float>(view_of(made), std::span<const float>(made.x), {}, ctx), interrupted);
}

}  // namespace
}  // namespace quern
