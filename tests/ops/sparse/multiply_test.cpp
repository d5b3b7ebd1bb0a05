// SPDX-License-Identifier: Apache-2.0
// The public function y = A·x: every format, on every place, in both precisions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "on_each_place.hpp"
#include "primitives/sparse_cases.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/device_memory.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/sparse.hpp"
#include "reference/sparse_reference.hpp"
#include "several_places.hpp"

namespace quern::multiply_test {
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
            EXPECT_THAT(found.place, ::testing::HasSubstr("requested"));
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
    EXPECT_THAT(
        [&] { product_of(view_of(made), 4, {}); },
        ::testing::ThrowsMessage<usage_error>("the vector has 4 values, but the matrix has 5 columns"));
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
    EXPECT_EQ(chosen(mixed, 0.0), sparse_storage::csr);
    EXPECT_EQ(chosen(few, 0.0), sparse_storage::csr);
}

TYPED_TEST(sparse_checks_test, a_run_that_is_stopped_stops) {
    const std::atomic<int> stop{2};
    context ctx = TypeParam::ctx();
    ctx.stop_signal = &stop;
    const auto made = sparse_case_of<float>("stopped", 5, {2, 3}, sparse_values::ordinary, 1);
    EXPECT_THROW(multiply<float>(view_of(made), std::span<const float>(made.x), {}, ctx), interrupted);
}

// ---- A matrix that stays ----

template <class Value>
void expect_products_of_a_resident_matrix(const context& ctx) {
    const std::vector<std::uint64_t> lengths{3, 0, 90, 1, 17, 0, 5};
    auto made = sparse_case_of<Value>("resident", 100, lengths, sparse_values::ordinary, 3);
    for (const sparse_storage storage : all_storages) {
        SCOPED_TRACE(sparse_storage_names[static_cast<std::size_t>(storage)]);
        auto read = made;
        resident_matrix<Value> matrix(view_of(read), storage, ctx);
        read = {};  // it is not read again
        EXPECT_EQ(matrix.rows(), lengths.size());
        EXPECT_EQ(matrix.columns(), 100u);
        EXPECT_NE(matrix.storage(), sparse_storage::automatic);
        EXPECT_GE(matrix.bytes(), made.column.size() * (4 + sizeof(Value)));
        EXPECT_THAT(matrix.place(), ::testing::EndsWith(": requested"));
        std::vector<Value> x = made.x;
        for (int call = 0; call < 3; ++call) {
            for (Value& one : x) one = one / 2 + static_cast<Value>(call);
            const std::vector<Value> y = matrix.multiply(x);
            const std::vector<Value> expected = reference::sparse_product(
                primitives::csr_view<Value>{made.rows(), made.columns, made.offsets, made.column, made.value},
                x);
            ASSERT_EQ(y.size(), expected.size());
            for (std::size_t i = 0; i < y.size(); ++i) {
                if (rounds_once(storage))
                    EXPECT_EQ(y[i], expected[i]) << "row " << i << " of call " << call;
                else
                    EXPECT_NEAR(static_cast<double>(y[i]), static_cast<double>(expected[i]), 1e-3);
            }
        }
        const auto timed = matrix.multiply(x, 2);
        EXPECT_EQ(timed.seconds.size(), 2u);
        EXPECT_EQ(timed.conversion_seconds, 0);  // it was part of the first call
        EXPECT_EQ(timed.y, matrix.multiply(x));
        EXPECT_THROW(matrix.multiply(x, 0), usage_error);
        x.pop_back();
        EXPECT_THAT([&] { (void)matrix.multiply(x); },
                    ::testing::ThrowsMessage<usage_error>(
                        "the vector has 99 values, but the matrix has 100 columns"));
    }
}

TYPED_TEST(sparse_checks_test, products_of_a_matrix_that_stays) {
    expect_products_of_a_resident_matrix<float>(TypeParam::ctx());
    expect_products_of_a_resident_matrix<double>(TypeParam::ctx());
}

TYPED_TEST(sparse_checks_test, a_resident_matrix_moves_and_rejects_what_multiply_rejects) {
    const auto made = sparse_case_of<double>("moved", 20, {4, 9, 2}, sparse_values::ordinary, 5);
    resident_matrix<double> first(view_of(made), sparse_storage::csr, TypeParam::ctx());
    const std::vector<double> y = first.multiply(made.x);
    resident_matrix<double> second = std::move(first);
    EXPECT_EQ(second.multiply(made.x), y);
    auto narrow = view_of(made);
    narrow.columns = *std::ranges::max_element(made.column);
    for (const sparse_storage storage : all_storages)
        EXPECT_THROW(resident_matrix<double>(narrow, storage, TypeParam::ctx()), invalid_value);
}

/// Blocks of rows on several places: random rows, no rows, rows fewer than places, one row with most entries.
template <class Value>
void expect_blocks_like_one(const context& ctx) {
    const std::vector<std::vector<std::uint64_t>> all_lengths{
        {}, {7}, {0, 0}, {90, 0, 1, 2}, {1, 2, 0, 500, 3, 0, 0}, std::vector<std::uint64_t>(200, 3)};
    for (const auto& lengths : all_lengths) {
        const auto made = sparse_case_of<Value>("blocks", 100, lengths, sparse_values::ordinary, 3);
        for (const sparse_storage storage : all_storages) {
            if (storage == sparse_storage::ell && lengths.size() < 200) continue;  // mostly padding
            SCOPED_TRACE(sparse_storage_names[static_cast<std::size_t>(storage)]);
            resident_matrix<Value> one(view_of(made), storage, ctx);
            for (const std::size_t places : {2, 3}) {
                chosen_device chosen = choose_device(ctx, "this test");
                chosen.more = further_places(chosen, places - 1);
                resident_matrix<Value> several(view_of(made), storage, ctx, chosen, 1);
                EXPECT_EQ(several.rows(), one.rows());
                EXPECT_EQ(several.columns(), 100u);
                const auto found = several.multiply(made.x, 2), expected = one.multiply(made.x, 2);
                ASSERT_EQ(found.y.size(), expected.y.size());
                EXPECT_TRUE(found.y.empty() || std::memcmp(found.y.data(), expected.y.data(),
                                                           found.y.size() * sizeof(Value)) == 0);
                EXPECT_EQ(found.seconds.size(), 2u);
                EXPECT_GE(found.bytes, made.column.size() * (4 + sizeof(Value)));
                EXPECT_EQ(several.bytes(), found.bytes);
            }
        }
    }
}

TYPED_TEST(sparse_checks_test, blocks_of_rows_on_several_places) {
    expect_blocks_like_one<float>(TypeParam::ctx());
    expect_blocks_like_one<double>(TypeParam::ctx());
}

TYPED_TEST(sparse_checks_test, several_places_refuse_what_one_refuses) {
    chosen_device chosen = choose_device(TypeParam::ctx(), "this test");
    chosen.more = further_places(chosen, 2);
    const auto made = sparse_case_of<float>("refused", 5, {2, 3, 40}, sparse_values::ordinary, 1);
    auto narrow = view_of(made);
    narrow.columns = *std::ranges::max_element(made.column);
    const std::vector<std::uint64_t> falling{0, 5, 2, 45};
    auto wrong = view_of(made);
    wrong.offsets = falling;
    auto cut = view_of(made);
    cut.value = cut.value.first(3);
    const auto message_of = [&](const sparse_matrix_view<float>& matrix, const auto&... chosen_places) {
        try {
            resident_matrix<float>(matrix, sparse_storage::csr, TypeParam::ctx(), chosen_places...);
        } catch (const error& e) {
            return std::string(e.what());
        }
        return std::string("nothing was thrown");
    };
    for (const auto& matrix : {narrow, wrong, cut})
        EXPECT_EQ(message_of(matrix, chosen, std::uint64_t{1}), message_of(matrix));
    EXPECT_NE(message_of(narrow), "nothing was thrown");
}

/// Vectors on a GPU, times a matrix on the tested place.
TYPED_TEST(sparse_checks_test, vectors_of_a_gpu) {
    if (!has_device_memory()) {
        EXPECT_THROW(device_memory(0, 8), device_error);
        return;
    }
    std::optional<device_memory> on_gpu;
    const auto made = sparse_case_of<double>("of a GPU", 50, {30, 0, 9, 1, 200}, sparse_values::ordinary, 6);
    try {
        on_gpu.emplace(choose_device(context::cuda(), "this test").ordinal, 50 * sizeof(double));
    } catch (const device_error& missing) {
        GTEST_SKIP() << missing.what();
    }
    on_gpu->copy_in(std::as_bytes(std::span<const double>(made.x)));
    const device_numbers_view<double> x{
        static_cast<const double*>(on_gpu->data()), 50, {.ordinal = on_gpu->ordinal()}};
    for (const sparse_storage storage :
         {sparse_storage::automatic, sparse_storage::coo, sparse_storage::csr}) {
        resident_matrix<double> matrix(view_of(made), storage, TypeParam::ctx());
        const std::vector<double> expected = matrix.multiply(made.x);
        for (const auto ready : {data_location::order::complete, data_location::order::after_stream,
                                 data_location::order::after_device}) {
            auto given = x;
            given.where.ready = ready;
            const auto on_device = matrix.multiply(given, 2);
            const device_memory& y = on_device.device_y;
            EXPECT_TRUE(on_device.y.empty());
            EXPECT_EQ(on_device.seconds.size(), 2u);
            EXPECT_EQ(on_device.place, matrix.place());
            ASSERT_EQ(y.ordinal(), on_gpu->ordinal());
            std::vector<double> found(expected.size());
            copy_to_host({.ordinal = y.ordinal()}, y.data(), std::as_writable_bytes(std::span(found)));
            EXPECT_EQ(found, expected);
        }
    }
    resident_matrix<double> matrix(view_of(made), sparse_storage::csr, TypeParam::ctx());
    EXPECT_THROW((void)matrix.multiply(device_numbers_view<double>{x.values, 49, x.where}), usage_error);
    EXPECT_THROW((void)matrix.multiply(device_numbers_view<double>{x.values, 50, {}}), usage_error);
}

}  // namespace
}  // namespace quern::multiply_test
