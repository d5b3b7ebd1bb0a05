// SPDX-License-Identifier: Apache-2.0
// Sets whose rows the host cannot read in place: the same rankings and messages as of rows in its memory. On the CPU its own
// memory stands in for a device's: the index sees no address of it outside of tiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "../../on_each_place.hpp"
#include "../../reference/retrieval_reference.hpp"
#include "../../refused.hpp"
#include "ops/nearest/index/sharded_index.hpp"
#include "quern/base/device_vectors.hpp"
#include "vector_samples.hpp"

namespace quern::device_vectors_test {
namespace {

using namespace nearest_detail;
using ::testing::HasSubstr;
using testing::refused;

/// Rows in a place's memory, and a set of them there.
template <class Place>
class placed_set {
  public:
    /// The rows begin `shift` components after an aligned address.
    placed_set(const sample_vectors& rows, vector_set_options options, const context& ctx, std::size_t shift)
        : opened_(ctx, choose_device(ctx, "this test")) {
        const std::size_t begin = shift * std::max<std::size_t>(bytes_of_row(rows.type, 8) / 8, 1);
        std::vector<std::byte> all(begin);
        all.insert(all.end(), rows.memory.begin(), rows.memory.end());
        vectors_view view = rows.view();
        if constexpr (std::is_same_v<Place, cpu_place>) {
            on_host_.assign((all.size() + 7) / 8, 0);
            if (!all.empty()) std::memcpy(on_host_.data(), all.data(), all.size());
            view.values = std::as_bytes(std::span(on_host_)).subspan(begin, rows.memory.size());
        } else {
            on_device_ = device_memory(opened_.place().ordinal(), all.size());
            on_device_.copy_in(all);
            view.values = {static_cast<const std::byte*>(on_device_.data()) + begin, rows.memory.size()};
        }
        set_ = std::make_unique<sharded_index<Place, vectors_view>>(
            opened_.place(), opened_.host(), view, options,
            index_layout{.name = "test", .more = {}, .in_place = data_location{}});
    }
    sharded_index<Place, vectors_view>* operator->() { return set_.get(); }

  private:
    opened_place<Place> opened_;
    std::vector<std::uint64_t> on_host_;
    device_memory on_device_;
    std::unique_ptr<sharded_index<Place, vectors_view>> set_;
};

template <class Tested>
class device_vectors_test : public on_place<Tested> {
  protected:
    using place_type = typename on_place<Tested>::place_type;
    static placed_set<place_type> make(const sample_vectors& rows, vector_set_options options,
                                       std::size_t shift = 0) {
        return {rows, options, Tested::ctx(), shift};
    }
};
TYPED_TEST_SUITE(device_vectors_test, tested_places, tested_place_names);

TYPED_TEST(device_vectors_test, gathers_rows) {
    for (const std::size_t row_bytes : {1u, 3u, 4u, 24u, 100u}) {
        for (const auto where : {beginning::aligned, beginning::one_off}) {
            std::vector<std::byte> values(97 * row_bytes);
            for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * 7 % 251);
            const std::vector<std::uint32_t> wanted = {96, 0, 5, 5, 41};
            const std::size_t stride = (row_bytes + 7) / 8 * 8;
            const auto from = this->array(values, where);
            const auto rows = this->array(wanted);
            const auto to = this->array(std::vector<std::byte>(wanted.size() * stride));
            gather_rows(this->place(), from.view(), row_bytes, rows.view(), stride, to.span());
            const std::vector<std::byte> found = to.host();
            for (std::size_t i = 0; i < wanted.size(); ++i)
                EXPECT_EQ(0, std::memcmp(found.data() + i * stride, values.data() + wanted[i] * row_bytes,
                                         row_bytes))
                    << row_bytes << ", row " << i;
        }
    }
}

TYPED_TEST(device_vectors_test, ranks_every_type_by_every_metric) {
    for (const auto& [rows, dimensions, kind] :
         {std::tuple{400u, 1u, vector_sample::ties}, std::tuple{900u, 3u, vector_sample::ties},
          std::tuple{300u, 100u, vector_sample::wide}}) {
        for (const vector_type type : every_type) {
            const auto set = make_vectors(type, rows, dimensions, kind, 3 * dimensions);
            const auto queries = make_vectors(type, 3, dimensions, kind, 3 * dimensions + 1);
            for (const vector_metric metric : metrics_for(type)) {
                vector_set plain(set.view(), {.metric = metric}, context::cpu(2));
                const retrieval_options every_options[] = {
                    {.k = 1}, {.k = 9}, {.k = 250}, {.k = all_vectors}, {.k = all_vectors, .radius = 1.0}};
                std::vector<rankings> expected;
                for (const retrieval_options& options : every_options)
                    expected.push_back(plain.search(queries.view(), options));
                for (const std::size_t shift : {0, 1}) {
                    auto made = this->make(set, {.metric = metric}, shift);
                    for (std::size_t i = shift; i < expected.size(); i += 1 + shift)
                        expect_equal(made->search(queries.view(), every_options[i]), expected[i],
                                     std::string(vector_type_names[static_cast<std::size_t>(type)]) + " " +
                                         std::string(vector_metric_names[static_cast<std::size_t>(metric)]) +
                                         ", options " + std::to_string(i) + ", shifted by " +
                                         std::to_string(shift));
                    if (this->HasFailure()) return;
                }
            }
        }
    }
}

// Enough for the filter and for keys of 32 bits; rows that single precision puts in the wrong order, and equal ones.
TYPED_TEST(device_vectors_test, ranks_many_queries) {
    for (const vector_type type : {vector_type::f32, vector_type::f16, vector_type::i8}) {
        auto set = make_vectors(type, 17'000, 16, vector_sample::plain, 21);
        for (std::size_t i = 0; i < 6000; ++i)  // near and equal ones
            std::memmove(set.data() + i * set.stride, set.data() + (i % 11) * set.stride, set.stride - i % 3);
        const auto queries = make_vectors(type, 40, 16, vector_sample::plain, 22);
        for (const vector_metric metric : {vector_metric::l2, vector_metric::ip, vector_metric::cosine}) {
            vector_set expected(set.view(), {.metric = metric}, context::cpu(2));
            auto made = this->make(set, {.metric = metric});
            for (const auto& requested : {queries.view(), rows_of(set.view(), 0, 40)})
                for (const std::uint64_t k : {std::uint64_t{1}, std::uint64_t{30}, std::uint64_t{700}})
                    expect_equal(made->search(requested, {.k = k}), expected.search(requested, {.k = k}),
                                 std::to_string(static_cast<int>(metric)));
            if (this->HasFailure()) return;
        }
    }
}

// Lengths that underflow, and the cosine of zeros.
TYPED_TEST(device_vectors_test, ranks_short_rows) {
    auto set = make_vectors(vector_type::f32, 900, 5, vector_sample::plain, 31);
    for (std::size_t i = 0; i < 900; ++i)
        for (std::size_t j = 0; j < 5; ++j) {
            auto* const at = reinterpret_cast<float*>(set.data() + i * set.stride) + j;
            *at = i % 3 == 0 ? 0.0f : std::ldexp(*at, i % 3 == 1 ? -90 : 0);
        }
    vector_set expected(set.view(), {.metric = vector_metric::cosine}, context::cpu(2));
    auto made = this->make(set, {.metric = vector_metric::cosine});
    expect_equal(made->search(rows_of(set.view(), 0, 9), {.k = 20}),
                 expected.search(rows_of(set.view(), 0, 9), {.k = 20}), "short rows");
}

TYPED_TEST(device_vectors_test, names_the_first_bad_row) {
    auto set = make_vectors(vector_type::f32, 6000, 500, vector_sample::plain, 81);
    const auto put = [&](std::uint64_t row, std::uint64_t column, float value) {
        std::memcpy(set.data() + row * set.stride + 4 * column, &value, 4);
    };
    put(5700, 3, std::numeric_limits<float>::infinity());
    put(3217, 499, std::nanf(""));
    const auto message = [&](vector_metric metric) {
        return refused<invalid_value>([&] { (void)this->make(set, {.metric = metric}); });
    };
    EXPECT_EQ(message(vector_metric::l1), "row 3217 has a value that is not finite");
    put(2900, 0, -2e37f);
    EXPECT_EQ(message(vector_metric::ip),
              "row 2900 has a value so large that a sum of products could overflow");
    const auto good = make_vectors(vector_type::f32, 20, 5, vector_sample::plain, 82);
    auto made = this->make(good, {});
    auto queries = make_vectors(vector_type::f32, 3, 5, vector_sample::plain, 83);
    const float nan = std::nanf("");
    std::memcpy(queries.data() + 2 * queries.stride, &nan, 4);
    EXPECT_EQ(refused<invalid_value>([&] { made->search(queries.view(), {}); }),
              "query 2 has a value that is not finite");
}

TYPED_TEST(device_vectors_test, takes_no_memory_for_the_rows) {
    const auto set = make_vectors(vector_type::f32, 5000, 64, vector_sample::plain, 91);
    auto made = this->make(set, {});
    (void)made->search(rows_of(set.view(), 0, 2), {});
    EXPECT_EQ(made->record().tile_bytes, 0u);
    EXPECT_EQ(made->record().tiles, 1u);
    const auto none = make_vectors(vector_type::f32, 0, 64, vector_sample::plain, 91);
    auto empty = this->make(none, {});
    EXPECT_TRUE(empty->search(rows_of(set.view(), 0, 2), {}).ids.empty());
}

// ---- Parts that need no place ----

TEST(device_vectors_places_test, requests_for_another_place_are_refused) {
    const float numbers[] = {1, 2};
    device_vectors_view there{vector_type::f32, 1, 2, numbers, {.ordinal = 1}};
    const auto message = [&](const context& ctx) {
        return refused<usage_error>([&] { vector_set(there, {}, ctx); });
    };
    EXPECT_EQ(message(context::cpu()),
              "the vectors lie on cuda:1, but cpu was requested; copy them there, or request cuda:1");
    EXPECT_EQ(message(context::cuda(0)),
              "the vectors lie on cuda:1, but cuda:0 was requested; copy them there, or request cuda:1");
    there.where = {};
    EXPECT_THAT(message({}), HasSubstr("lie on the host"));
    there.where.ordinal = 4000;
    EXPECT_THROW(vector_set(there, {}, {}), device_error);
}

TEST(device_memory_test, is_refused_where_there_is_none) {
    EXPECT_EQ(name_of(data_location{}), "the host");
    EXPECT_EQ(name_of(data_location{.ordinal = 3}), "cuda:3");
    EXPECT_EQ(has_device_memory(), has_cuda);
    EXPECT_EQ(device_memory().size(), 0u);
    if (has_cuda) return;
    EXPECT_THROW(device_memory(0, 8), device_error);
    std::byte byte{};
    EXPECT_THROW(copy_to_host({.ordinal = 0}, &byte, {&byte, 1}), device_error);
    EXPECT_THROW((void)location_of(&byte), device_error);
}

}  // namespace
}  // namespace quern::device_vectors_test
