// SPDX-License-Identifier: Apache-2.0
// Rankings are those of the true distances, on every place: vectors that single and double precision put in the wrong order
// on purpose, whole rankings and their beginnings, with filters and without, against numbers without rounding.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../../on_each_place.hpp"
#include "../../reference/retrieval_reference.hpp"
#include "ops/nearest/index/sharded_index.hpp"
#include "ops/nearest/ranking/bounded_distance.hpp"
#include "ops/nearest/ranking/exact_distance.hpp"
#include "vector_samples.hpp"

namespace quern::true_order_test {
namespace {

using namespace nearest_detail;
using enum vector_metric;

constexpr vector_metric float_metrics[] = {l2, sql2, ip, cosine, l1, linf};

/// Rows of any numbers, in the form of a type.
sample_vectors stored_as(vector_type type, const std::vector<reference::numbers>& rows) {
    sample_vectors made =
        make_vectors(type, static_cast<std::uint32_t>(rows.size()),
                     static_cast<std::uint32_t>(rows[0].size()), vector_sample::plain, 1, 4);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t j = 0; j < rows[i].size(); ++j) {
            const auto single = static_cast<float>(rows[i][j]);
            std::byte* const row = made.data() + i * made.stride;
            if (type == vector_type::f64) {
                std::memcpy(row + 8 * j, &rows[i][j], 8);
            } else if (type == vector_type::f32) {
                std::memcpy(row + 4 * j, &single, 4);
            } else if (type == vector_type::i8) {
                const auto small = static_cast<std::int8_t>(rows[i][j]);
                std::memcpy(row + j, &small, 1);
            } else {
                const std::uint16_t half =
                    type == vector_type::f16
                        ? half_of(single)
                        : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(single) >> 16);
                std::memcpy(row + 2 * j, &half, 2);
            }
        }
    }
    return made;
}

/// A maker of component j of row i.
using component_maker = std::function<double(std::size_t i, std::size_t j)>;
std::vector<reference::numbers> rows_of_numbers(std::size_t rows, std::size_t dimensions,
                                                const component_maker& make) {
    std::vector<reference::numbers> made(rows, reference::numbers(dimensions));
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < dimensions; ++j) made[i][j] = make(i, j);
    return made;
}

struct hostile_sample {
    std::string name;
    std::vector<reference::numbers> rows, queries;
};

/// Data that is hard in single precision, some of it in double too.
std::vector<hostile_sample> hostile_samples(std::size_t rows, std::size_t queries, std::uint64_t seed) {
    std::vector<hostile_sample> made;
    std::mt19937_64 random(seed);
    const auto uniform = [&] { return static_cast<double>(random() >> 40) * 0x1p-24; };
    const auto add = [&](const std::string& name, std::size_t dimensions, const component_maker& make) {
        auto set = rows_of_numbers(rows, dimensions, make);
        // Some queries are rows.
        auto requested = rows_of_numbers(queries, dimensions, make);
        requested[0] = set[rows / 2];
        made.push_back({name, std::move(set), std::move(requested)});
    };
    add("small positive numbers", 8,
        [&](auto, std::size_t j) { return static_cast<double>(j + 1) * 1e-3 + 1e-6 * uniform(); });
    add("nearly one direction", 3, [&](std::size_t i, std::size_t j) {
        return static_cast<double>(1 + i % 7) *
               (static_cast<double>(j + 1) + 1e-6 * static_cast<double>(random() % 5));
    });
    add("long and close", 5, [&](auto, auto) { return 1e6 + 0.25 * static_cast<double>(random() % 9); });
    add("subnormal", 4, [&](auto, auto) { return std::ldexp(uniform() - 0.5, -126); });
    add("very short", 6, [&](auto, auto) { return std::ldexp(uniform() + 0.01, -80); });
    add("sums that cancel", 6, [&](std::size_t i, std::size_t j) {
        const double size = j < 4 ? 1e5 : 1e-4;
        return (j % 2 == 0 ? size : -size) * (1 + 1e-6 * static_cast<double>((i + j) % 3)) + 1e-6 * uniform();
    });
    add("many magnitudes", 16,
        [&](auto, auto) { return std::ldexp(uniform() - 0.5, static_cast<int>(random() % 100) - 60); });
    add("the same numbers in any order", 6, [&](std::size_t i, std::size_t j) {
        constexpr double few[] = {0.1, 0.7, 0.3, 0.1, 0.9, 0.2};
        return few[(j * (1 + i % 5) + i % 11) % 6];
    });
    add("a few right angles and nothing", 5, [&](std::size_t i, std::size_t j) {
        return i % 5 == 0 ? 0.0 : j % 2 == i % 2 ? 0.1 * static_cast<double>(1 + random() % 3) : 0.0;
    });
    add("large whole numbers", 4,
        [&](auto, auto) { return static_cast<double>(random() % 5) + 16'777'210.0; });
    return made;
}

template <class Tested>
class true_order_test : public on_place<Tested> {
  protected:
    void check(const vectors_view& set, const vectors_view& queries, vector_metric metric,
               std::initializer_list<std::uint64_t> lengths, const std::string& name) {
        const auto what = name + ", " + std::string(vector_type_names[static_cast<std::size_t>(set.type)]) +
                          " " + std::string(vector_metric_names[static_cast<std::size_t>(metric)]);
        const rankings complete = reference::rank_all(metric, set, queries, {.k = all_vectors});
        for (const retrieval_method method : {retrieval_method::automatic, retrieval_method::reduction}) {
            vector_set made(set, {metric, method}, Tested::ctx());
            for (const std::uint64_t k : lengths)
                expect_equal(made.search(queries, {.k = k}), first_of(complete, k),
                             what + ", k = " + std::to_string(k));
            if (this->HasFailure()) return;
        }
        // The last third's distance is a radius with ties on it.
        const double radius = complete.distances[set.rows / 3];
        const retrieval_options within{.k = all_vectors, .radius = radius, .allowed = {}};
        vector_set made(set, {metric}, Tested::ctx());
        expect_equal(made.search(queries, within), reference::rank_all(metric, set, queries, within),
                     what + ", within " + std::to_string(radius));
    }
};
TYPED_TEST_SUITE(true_order_test, tested_places, tested_place_names);

// Angles far below the precision of single precision, and below that of double.
TYPED_TEST(true_order_test, the_smaller_of_two_small_angles_comes_first) {
    const std::vector<reference::numbers> rows = {{0.02f, 0.05f, 0.01f, 0.9f},
                                                  {0.02f, 0.0501f, 0.01f, 0.9f},
                                                  {0.02f, 0.050003f, 0.01f, 0.9f},
                                                  {1, 2e-30f, 0, 0},
                                                  {1, 1e-30f, 0, 0},
                                                  {2, 2e-30f, 0, 0},
                                                  {1, 3e-30f, 0, 0}};
    const std::vector<reference::numbers> queries = {{0.02f, 0.05f, 0.01f, 0.9f}, {1, 0, 0, 0}};
    for (const vector_type type : {vector_type::f32, vector_type::f64}) {
        const auto set = stored_as(type, rows), requested = stored_as(type, queries);
        vector_set made(set.view(), {.metric = cosine}, TypeParam::ctx());
        const rankings found = made.search(requested.view(), {.k = 4});
        EXPECT_EQ(std::vector<std::uint32_t>(found.ids.begin(), found.ids.end()),
                  (std::vector<std::uint32_t>{0, 2, 1, 6, 4, 5, 3, 6}));
        EXPECT_EQ(found.distances[0], 0);
        EXPECT_NEAR(found.distances[4] / 5e-61, 1, 1e-6);
        EXPECT_EQ(found.distances[4], found.distances[5]);  // 2e-30 to 2 is exactly 1e-30 to 1
        EXPECT_NEAR(found.distances[6] / 2e-60, 1, 1e-6);
    }
}

TYPED_TEST(true_order_test, hostile_vectors_stand_as_their_true_distances_do) {
    for (const hostile_sample& sample : hostile_samples(120, 3, 5)) {
        for (const vector_type type :
             {vector_type::f32, vector_type::f64, vector_type::bf16, vector_type::f16}) {
            const auto set = stored_as(type, sample.rows), queries = stored_as(type, sample.queries);
            for (const vector_metric metric : float_metrics) {
                this->check(set.view(), queries.view(), metric, {1, 7, all_vectors}, sample.name);
                if (this->HasFailure()) return;
            }
        }
    }
}

// Enough rows and queries for keys of 32 bits and the filter, whose order is then corrected.
TYPED_TEST(true_order_test, filters_lose_none_of_the_truly_nearest) {
    constexpr bool on_cpu = std::is_same_v<typename TypeParam::place_type, cpu_place>;
    constexpr std::size_t rows = on_cpu ? 4300 : 17'000, queries = 24, checked = 3;
    std::uint64_t filtered = 0;
    for (const hostile_sample& sample : hostile_samples(rows, queries, 6)) {
        const auto set = stored_as(vector_type::f32, sample.rows),
                   requested = stored_as(vector_type::f32, sample.queries);
        for (const vector_metric metric : {l2, ip, cosine}) {
            const rankings truth =
                reference::rank_all(metric, set.view(), rows_of(requested.view(), 0, checked), {.k = 3});
            vector_set made(set.view(), {.metric = metric}, TypeParam::ctx());
            rankings found = made.search(requested.view(), {.k = 3});
            filtered += made.record().filtered;
            found.offsets.resize(checked + 1);
            expect_equal(found, truth, sample.name + " " + std::to_string(static_cast<int>(metric)));
            if (this->HasFailure()) return;
        }
    }
    EXPECT_GT(filtered, 0u);
}

// Whole numbers make sums exact for one search; the queries of the next, or of the same, are not whole.
TYPED_TEST(true_order_test, what_holds_for_some_queries_is_not_held_of_others) {
    std::mt19937_64 random(7);
    const auto whole = [&](auto, auto) { return static_cast<double>(random() % 3); };
    const auto set = stored_as(vector_type::f32, rows_of_numbers(600, 4, whole));
    const auto coarse = stored_as(vector_type::f32, rows_of_numbers(3, 4, whole));
    auto numbers = rows_of_numbers(3, 4, whole);
    for (std::size_t j = 0; j < 4; ++j) numbers[1][j] += std::ldexp(1.0 + static_cast<double>(j), -23);
    numbers[2] = {1e-9, 3e-9, 1e-17, 7e-18};
    const auto fine = stored_as(vector_type::f32, numbers);
    for (const vector_metric metric : {l2, ip, l1}) {
        vector_set made(set.view(), {.metric = metric}, TypeParam::ctx());
        for (const auto* queries : {&coarse, &fine, &coarse})
            expect_equal(made.search(queries->view(), {.k = all_vectors}),
                         reference::rank_all(metric, set.view(), queries->view(), {.k = all_vectors}),
                         std::to_string(static_cast<int>(metric)));
    }
}

// Integers are summed exactly, but the quotient of a cosine is not.
TYPED_TEST(true_order_test, cosines_of_integers_stand_right) {
    std::mt19937_64 random(8);
    const auto rows = rows_of_numbers(
        1500, 6, [&](auto, auto) { return static_cast<double>(static_cast<int>(random() % 9) + 118); });
    const auto set = stored_as(vector_type::i8, rows);
    const auto queries = stored_as(vector_type::i8, {rows[3], rows[77]});
    this->check(set.view(), queries.view(), cosine, {2, 100, all_vectors}, "integers");
}

// Lengths whose squares are outside the range of double, sums beyond it.
TYPED_TEST(true_order_test, doubles_beyond_doubles_stand_right) {
    std::mt19937_64 random(9);
    const auto numbers = [&](int min, int max, std::size_t rows) {
        return rows_of_numbers(rows, 3, [&](auto, auto) {
            return std::ldexp(static_cast<double>(random() >> 11) - 0x1p52,
                              min + static_cast<int>(random() % static_cast<unsigned>(max - min)) - 52);
        });
    };
    const auto short_ones = stored_as(vector_type::f64, numbers(-1060, -1000, 120));
    const auto mixed = stored_as(vector_type::f64, numbers(-1070, 400, 120));
    const auto long_ones = stored_as(vector_type::f64, numbers(1000, 1020, 120));
    for (const vector_metric metric : float_metrics) {
        for (const auto* set : {&short_ones, &mixed}) {
            this->check(set->view(), rows_of(set->view(), 5, 4), metric, {1, all_vectors}, "doubles");
            if (this->HasFailure()) return;
        }
        if (metric == l2 || metric == sql2 || metric == linf)
            this->check(long_ones.view(), rows_of(long_ones.view(), 5, 4), metric, {1, all_vectors},
                        "sums beyond doubles");
    }
}

TYPED_TEST(true_order_test, sparse_vectors_stand_as_their_dense_twins) {
    std::mt19937_64 random(10);
    for (const hostile_sample& sample : hostile_samples(1200, 2, 11)) {
        auto rows = sample.rows, queries = sample.queries;
        for (auto* some : {&rows, &queries})
            for (auto& row : *some)
                for (double& value : row)
                    value = random() % 3 == 0 ? 0.0 : static_cast<double>(static_cast<float>(value));
        const auto as_csr = [&](const std::vector<reference::numbers>& from,
                                std::vector<std::uint64_t>& offsets, std::vector<std::uint32_t>& columns,
                                std::vector<float>& values) {
            offsets.assign(1, 0);
            for (const auto& row : from) {
                for (std::uint32_t j = 0; j < row.size(); ++j)
                    if (row[j] != 0) columns.push_back(j), values.push_back(static_cast<float>(row[j]));
                offsets.push_back(columns.size());
            }
            return sparse_vectors_view{from.size(), static_cast<std::uint32_t>(from[0].size()), offsets,
                                       columns, values};
        };
        std::vector<std::uint64_t> offsets, query_offsets;
        std::vector<std::uint32_t> columns, query_columns;
        std::vector<float> values, query_values;
        const auto set = as_csr(rows, offsets, columns, values);
        const auto requested = as_csr(queries, query_offsets, query_columns, query_values);
        const auto dense = stored_as(vector_type::f32, rows),
                   dense_queries = stored_as(vector_type::f32, queries);
        for (const vector_metric metric : float_metrics) {
            const rankings expected =
                reference::rank_all(metric, dense.view(), dense_queries.view(), {.k = all_vectors});
            vector_set made(set, {metric}, TypeParam::ctx()), twin(dense.view(), {metric}, TypeParam::ctx());
            for (const std::uint64_t k : {std::uint64_t{5}, all_vectors}) {
                const auto what =
                    sample.name + ", " + std::string(vector_metric_names[static_cast<std::size_t>(metric)]);
                expect_equal(made.search(requested, {.k = k}), first_of(expected, k), what + ", sparse");
                expect_equal(twin.search(dense_queries.view(), {.k = k}), first_of(expected, k),
                             what + ", dense");
                if (this->HasFailure()) return;
            }
        }
    }
}

// ---- Parts that need no place ----

// Values and keys are within their bounds of the truth, for any vectors.
TYPED_TEST(true_order_test, values_and_keys_are_within_their_bounds) {
    using tested_place = typename TypeParam::place_type;
    tested_place& place = this->place();
    constexpr std::size_t rows_made = 24, pairs = rows_made * rows_made;
    for (const std::uint32_t dimensions : {1u, 5u, 130u}) {
        for (const vector_type type :
             {vector_type::f32, vector_type::f64, vector_type::f16, vector_type::bf16}) {
            const auto set = make_vectors(type, rows_made, dimensions, vector_sample::wide, 31 + dimensions);
            const auto rows = reference::components_of(set.view());
            const int unit = reference::unit_of(rows);
            const auto whole = reference::whole_vectors_of(rows, unit);
            double greatest = 0;
            for (const auto& row : rows)
                for (const double value : row) greatest = std::max(greatest, std::fabs(value));
            for (const vector_metric metric : float_metrics) {
                const auto on_device = array_from(place, std::span<const std::byte>(set.memory), "rows");
                const row_tile<tested_place> tile{type,       set.rows,         dimensions,
                                                  set.stride, on_device.span(), {}};
                const auto keys = make_array<std::uint64_t>(place, pairs, "keys");
                value_keys(place, tile, tile, metric, {}, keys.span());
                std::vector<std::uint64_t> found(pairs);
                copy_out<std::uint64_t>(place, keys.span(), found);
                const double reach = greatest * greatest * dimensions;
                const value_bound bound = bound_of_values(type, metric, dimensions, reach);
                for (std::size_t i = 0; i < pairs; ++i) {
                    const auto truth =
                        reference::true_number_of(metric, whole, i % rows_made, whole, i / rows_made, 53);
                    const double number = metric == ip ? -truth.rounded : truth.rounded;
                    const double value = value_of_key(metric, found[i]);
                    ASSERT_LE(bound.lower(value), number * (1 + (number < 0 ? -0x1p-52 : 0x1p-52)))
                        << static_cast<int>(metric) << " " << static_cast<int>(type);
                    ASSERT_GE(bound.upper(value), number * (1 - (number < 0 ? -0x1p-52 : 0x1p-52)))
                        << static_cast<int>(metric) << " " << static_cast<int>(type);
                }
            }
        }
    }
}

TEST(exact_distance_test, rounds_as_the_long_way_does) {
    std::mt19937_64 random(12);
    const auto number = [&](bool doubles) {
        const double value = static_cast<double>(random() >> 11) - 0x1p52;
        return doubles
                   ? std::ldexp(value, static_cast<int>(random() % 1500) - 1120)
                   : double{static_cast<float>(std::ldexp(value, static_cast<int>(random() % 200) - 190))};
    };
    for (int round = 0; round < 4000; ++round) {
        const bool doubles = round % 2 == 0;
        reference::numbers a(1 + random() % 5), b(a.size());
        for (double& value : a) value = number(doubles);
        for (std::size_t j = 0; j < b.size(); ++j)
            b[j] = round % 3 == 0 ? a[j] : round % 3 == 1 ? -a[j] * 2 : number(doubles);
        if (round % 3 == 0) b[0] = std::nextafter(b[0], 0.0);
        if (round % 3 == 0 && !doubles) b[0] = double{static_cast<float>(b[0])};
        const int unit = reference::unit_of({a, b});
        const auto whole = reference::whole_vectors_of({a, b}, unit);
        for (const vector_metric metric : float_metrics) {
            for (const unsigned bits : {24u, 32u, 40u}) {
                const auto expected =
                    reference::true_number_of(metric, whole, 0, whole, 1, static_cast<int>(bits));
                ASSERT_EQ(exact_distance(metric, doubles, a, b).rounded(bits), expected.rounded)
                    << "round " << round << ", metric " << static_cast<int>(metric) << ", " << bits
                    << " bits";
            }
        }
    }
}

TEST(exact_distance_test, a_number_halfway_goes_to_the_even_one) {
    // 1 − s/√(x·y) = 1/2 + 2^-2 = 0.75, exactly, and 1 - 0.6 = 0.4, which has no finite binary expansion.
    EXPECT_EQ(exact_distance(cosine, false, std::vector<double>{1, 0, 0, 0},
                             std::vector<double>{1, 3, 2, std::sqrt(2.0)})
                  .rounded(3),
              0.75);
    EXPECT_EQ(exact_distance(cosine, false, std::vector<double>{3, 4}, std::vector<double>{1, 0}).rounded(40),
              reference::rounded_to_bits(reference::long_number(2) / 5, 40));
    EXPECT_EQ(exact_distance(ip, false, std::vector<double>{9}, std::vector<double>{1}).rounded(3), 8);
    EXPECT_EQ(exact_distance(ip, false, std::vector<double>{11}, std::vector<double>{1}).rounded(3), 12);
    EXPECT_EQ(rounded_to(3, 9), 8);
    EXPECT_EQ(rounded_to(3, 11), 12);
    EXPECT_EQ(rounded_to(32, 0.0), 0);
    EXPECT_EQ(rounded_to(3, -11), -12);
}

// A sum of many products of one sign, each small, and one that cancels nearly all of it.
TEST(exact_distance_test, long_sums_keep_every_bit) {
    std::vector<double> a(70'000, 1.0), b(70'000, 0x1p-100);
    a.push_back(-70'000);
    b.push_back(0x1p-100);
    a.push_back(1);
    b.push_back(0x1p-148);
    EXPECT_EQ(exact_distance(ip, false, a, b).rounded(24), 0x1p-148);
    a.pop_back();
    b.pop_back();
    EXPECT_EQ(exact_distance(ip, false, a, b).rounded(24), 0);
}

}  // namespace
}  // namespace quern::true_order_test
