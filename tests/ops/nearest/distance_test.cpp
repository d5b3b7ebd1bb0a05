// SPDX-License-Identifier: Apache-2.0
// Rank keys of every type, metric and shape against the canonical reference, and the reference against long double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "../../on_each_place.hpp"
#include "../../on_every_target.hpp"
#include "../../reference/retrieval_reference.hpp"
#include "ops/nearest/distance/components.hpp"
#include "ops/nearest/distance/rank_keys.hpp"
#include "ops/nearest/index/tile.hpp"
#include "vector_samples.hpp"

namespace quern::distance_test {
namespace {

using namespace nearest_detail;

constexpr vector_type all_types[] = {vector_type::f32, vector_type::f16, vector_type::bf16, vector_type::i16,
                                     vector_type::i8,  vector_type::u8,  vector_type::bits, vector_type::f64};

std::vector<vector_metric> metrics_of(vector_type type) {
    using enum vector_metric;
    if (type == vector_type::bits) return {hamming};
    std::vector<vector_metric> all{l2, sql2, ip, cosine, l1, linf};
    if (type == vector_type::u8) all.push_back(hamming);
    return all;
}
std::string named(vector_type type, vector_metric metric) {
    return std::string(vector_type_names[static_cast<std::size_t>(type)]) + " " +
           std::string(vector_metric_names[static_cast<std::size_t>(metric)]);
}

std::vector<double> squares_of(const sample_vectors& vectors) {
    std::vector<double> squares;
    for (const reference::numbers& row : reference::components_of(vectors.view()))
        squares.push_back(reference::canonical_squares(vectors.type, row));
    return squares;
}

row_tile<cpu_place> tile_of(const sample_vectors& vectors, std::span<const double> squares) {
    const vectors_view view = vectors.view();
    return {.type = view.type,
            .rows = vectors.rows,
            .dimensions = view.dimensions,
            .stride = view.stride,
            .values = view.values,
            .squares = squares};
}

/// In keys of 32 and 64 bits, for all rows and for some, against the reference.
template <class Key>
void expect_canonical(cpu_place& place, const sample_vectors& vectors, const sample_vectors& queries,
                      vector_metric metric, std::span<const std::uint32_t> rows) {
    const bool cosine = metric == vector_metric::cosine;
    const std::vector<double> squares = cosine ? squares_of(vectors) : std::vector<double>(),
                              query_squares = cosine ? squares_of(queries) : std::vector<double>();
    const auto a = reference::components_of(vectors.view()), b = reference::components_of(queries.view());
    const std::size_t count = rows.empty() ? vectors.rows : rows.size();
    std::vector<Key> expected;
    for (const reference::numbers& query : b)
        for (std::size_t i = 0; i < count; ++i)
            expected.push_back(
                reference::canonical_key<Key>(vectors.type, metric, a[rows.empty() ? i : rows[i]], query));
    for (const bool reduction : {false, true}) {
        std::vector<Key> keys(expected.size() + 2, Key{0x5a5a5a5a});
        const auto inner = std::span(keys).subspan(1, expected.size());
        const auto tile = tile_of(vectors, squares), requested = tile_of(queries, query_squares);
        if (reduction)
            reduction_keys<Key>(place, tile, requested, metric, rows, inner);
        else
            distance_keys<Key>(place, tile, requested, metric, rows, inner);
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(inner[i], expected[i])
                << named(vectors.type, metric) << (reduction ? " by reduction" : "") << ", "
                << vectors.dimensions << " dimensions, " << vectors.rows << " rows, number " << i;
        ASSERT_EQ(keys.front(), Key{0x5a5a5a5a});
        ASSERT_EQ(keys.back(), Key{0x5a5a5a5a});
    }
}

void expect_canonical(cpu_place& place, const sample_vectors& vectors, const sample_vectors& queries,
                      vector_metric metric, std::span<const std::uint32_t> rows) {
    const bool is_float_key = is_float(vectors.type) || metric == vector_metric::cosine;
    const integer_range range = vectors.type == vector_type::i16  ? integer_range{-32768, 32767}
                                : vectors.type == vector_type::i8 ? integer_range{-128, 127}
                                                                  : integer_range{0, 255};
    const bool wide = has_wide_keys(vectors.type, metric, range, vectors.dimensions);
    if (!wide) expect_canonical<std::uint32_t>(place, vectors, queries, metric, rows);
    if (wide || !is_float_key) expect_canonical<std::uint64_t>(place, vectors, queries, metric, rows);
}

TEST(ranked_distances, are_canonical_for_every_type_metric_and_dimension) {
    on_every_target([] {
        cpu_place place(context::cpu(1));
        std::uint64_t seed = 1;
        for (const vector_type type : all_types) {
            for (const vector_metric metric : metrics_of(type)) {
                for (const std::uint32_t d : {1u,  2u,  3u,  7u,   8u,   15u,  16u,  17u,  31u,  32u, 33u,
                                              63u, 64u, 65u, 100u, 127u, 128u, 129u, 255u, 256u, 259u}) {
                    for (const vector_sample kind :
                         {vector_sample::wide, vector_sample::plain, vector_sample::ties}) {
                        ++seed;
                        const auto rows = static_cast<std::uint32_t>(seed % 37);
                        const auto vectors = make_vectors(type, rows, d, kind, seed, seed % 3 * seed % 40);
                        const auto queries = make_vectors(type, 1 + rows % 7, d, kind, seed + 1, seed % 5);
                        expect_canonical(place, vectors, queries, metric, {});
                        if (::testing::Test::HasFatalFailure()) return;
                    }
                }
            }
        }
    });
}

TEST(ranked_distances, are_canonical_for_many_dimensions_queries_and_chosen_rows) {
    on_every_target([] {
        cpu_place place(context::cpu(5));
        for (const vector_type type : all_types) {
            for (const vector_metric metric : metrics_of(type)) {
                std::vector<std::uint32_t> chosen;
                for (std::uint32_t i = 0; i < 61; ++i) chosen.push_back(i * 37 % 60);
                const auto vectors = make_vectors(type, 60, 784, vector_sample::wide, 5, 12);
                const auto queries = make_vectors(type, 7, 784, vector_sample::wide, 6);
                expect_canonical(place, vectors, queries, metric, chosen);
                expect_canonical(place, make_vectors(type, 477, 1, vector_sample::ties, 8),
                                 make_vectors(type, 2, 1, vector_sample::ties, 9), metric, {});
                expect_canonical(place, make_vectors(type, 5, 33'001, vector_sample::wide, 10),
                                 make_vectors(type, 1, 33'001, vector_sample::wide, 11), metric, {});
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    });
}

// The maximum sums of integers: blocks of 32-bit sums must be widened in time.
TEST(ranked_distances, of_the_greatest_integers_are_exact) {
    on_every_target([] {
        cpu_place place(context::cpu(1));
        for (const vector_type type : {vector_type::i16, vector_type::i8, vector_type::u8}) {
            constexpr std::uint32_t d = 70'000;  // two whole blocks and a piece
            auto vectors = make_vectors(type, 5, d, vector_sample::plain, 1);
            auto queries = make_vectors(type, 3, d, vector_sample::plain, 2);
            const auto fill = [&](sample_vectors& of, std::uint32_t row, int value) {
                for (std::uint32_t j = 0; j < d; ++j) {
                    if (type == vector_type::i16)
                        reinterpret_cast<std::int16_t*>(of.data() + row * of.stride)[j] =
                            static_cast<std::int16_t>(value);
                    else
                        of.data()[row * of.stride + j] = static_cast<std::byte>(value);
                }
            };
            const int least = type == vector_type::u8 ? 0 : type == vector_type::i8 ? -128 : -32768;
            const int max = type == vector_type::u8 ? 255 : type == vector_type::i8 ? 127 : 32767;
            fill(vectors, 0, least);
            fill(vectors, 1, max);
            fill(queries, 0, least);
            fill(queries, 1, max);
            for (const vector_metric metric : metrics_of(type))
                expect_canonical(place, vectors, queries, metric, {});
        }
    });
}

TEST(ranked_distances, are_near_the_truth) {
    for (const vector_type type : all_types) {
        for (const vector_metric metric : metrics_of(type)) {
            const auto a =
                reference::components_of(make_vectors(type, 40, 300, vector_sample::plain, 1).view());
            for (const reference::numbers& x : a)
                for (const reference::numbers& y : a) {
                    const long double truth = reference::true_distance(metric, x, y);
                    const double found = reference::canonical_distance(type, metric, x, y).reported;
                    ASSERT_NEAR(found, static_cast<double>(truth),
                                4e-6 * std::max(1.0, std::fabs(found)) + 1e-4)
                        << named(type, metric);
                }
        }
    }
}

TEST(ranked_distances, to_oneself_are_zero) {
    cpu_place place(context::cpu(1));
    for (const vector_type type : all_types) {
        for (const vector_metric metric : metrics_of(type)) {
            if (metric == vector_metric::ip) continue;
            const auto vectors = make_vectors(type, 50, 131, vector_sample::plain, 3);
            const std::vector<double> squares = squares_of(vectors);
            const auto tile = tile_of(vectors, squares);
            const auto look = [&]<class Key>(Key) {
                std::vector<Key> keys(50 * 50);
                distance_keys<Key>(place, tile, tile, metric, {}, keys);
                for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(keys[51 * i], 0u) << named(type, metric);
            };
            if (has_wide_keys(type, metric, {}, 131))
                look(std::uint64_t{});
            else
                look(std::uint32_t{});
        }
    }
}

// ---- Statistics of vectors ----

template <vector_type Type>
void set_component(sample_vectors& vectors, std::uint32_t row, std::uint32_t j, stored_t<Type> value) {
    reinterpret_cast<stored_t<Type>*>(vectors.data() + row * vectors.stride)[j] = value;
}

TEST(row_stats, are_those_of_the_reference) {
    on_every_target([] {
        for (const unsigned threads : {1u, 5u}) {
            cpu_place place(context::cpu(threads));
            for (const vector_type type : all_types) {
                for (const std::uint32_t d : {1u, 5u, 16u, 100u, 259u}) {
                    for (const std::uint32_t rows : {0u, 1u, 40u, d < 16 ? 3000u : 700u}) {
                        const auto vectors = make_vectors(
                            type, rows, d, rows % 7 == 5 ? vector_sample::ties : vector_sample::wide,
                            d + rows, d % 4);
                        const auto all = reference::components_of(vectors.view());
                        row_stats expected;
                        if (rows != 0) {
                            const auto first = static_cast<std::int32_t>(all[0][0]);
                            if (!is_float(type) && type != vector_type::bits) expected.range = {first, first};
                        }
                        for (std::uint32_t i = 0; i < rows; ++i) {
                            for (const double value : all[i]) {
                                if (is_float(type) && std::fabs(value) > expected.greatest) {
                                    expected.greatest = std::fabs(value);
                                    if (type != vector_type::f64) expected.greatest_row = i;
                                } else if (!is_float(type) && type != vector_type::bits) {
                                    const auto whole = static_cast<std::int32_t>(value);
                                    expected.range = {std::min(expected.range.least, whole),
                                                      std::max(expected.range.greatest, whole)};
                                }
                            }
                        }
                        std::vector<double> squares(rows);
                        const row_stats found = stats_of(place, tile_of(vectors, {}), squares);
                        EXPECT_EQ(found.bad_row, no_row);
                        EXPECT_EQ(found.greatest, expected.greatest);
                        EXPECT_EQ(found.greatest_row, expected.greatest_row);
                        EXPECT_EQ(found.range.least, expected.range.least);
                        EXPECT_EQ(found.range.greatest, expected.range.greatest);
                        ASSERT_EQ(squares, squares_of(vectors)) << static_cast<int>(type) << " " << d;
                    }
                }
            }
        }
    });
}

TEST(row_stats, name_the_first_bad_row) {
    cpu_place place(context::cpu(5));
    for (const std::uint32_t d : {1u, 3u, 16u, 37u, 300u}) {
        for (const std::uint32_t bad : {0u, 1u, 777u, 2999u}) {
            const std::uint32_t j = bad % d;
            auto singles = make_vectors(vector_type::f32, 3000, d, vector_sample::wide, d);
            auto halves = make_vectors(vector_type::f16, 3000, d, vector_sample::wide, d);
            auto brains = make_vectors(vector_type::bf16, 3000, d, vector_sample::wide, d);
            set_component<vector_type::f32>(singles, 2999, 0, std::nanf(""));
            set_component<vector_type::f32>(singles, bad, j, -HUGE_VALF);
            set_component<vector_type::f16>(halves, 2999, 0, 0x7c00);
            set_component<vector_type::f16>(halves, bad, j, 0xfc01);
            set_component<vector_type::bf16>(brains, 2999, 0, 0xff81);
            set_component<vector_type::bf16>(brains, bad, j, 0x7f80);
            auto doubles = make_vectors(vector_type::f64, 3000, d, vector_sample::wide, d);
            set_component<vector_type::f64>(doubles, 2999, 0, std::nan(""));
            set_component<vector_type::f64>(doubles, bad, j, -HUGE_VAL);
            for (const auto* vectors : {&singles, &halves, &brains, &doubles})
                EXPECT_EQ(stats_of(place, tile_of(*vectors, {}), {}).bad_row, bad);
            auto bits = make_vectors(vector_type::bits, 3000, d, vector_sample::wide, d);
            EXPECT_EQ(stats_of(place, tile_of(bits, {}), {}).bad_row, no_row);
            if (d % 8 == 0) continue;
            bits.data()[bad * bits.stride + d / 8] |= static_cast<std::byte>(1u << (d % 8));
            EXPECT_EQ(stats_of(place, tile_of(bits, {}), {}).bad_row, bad);
        }
    }
}

}  // namespace
}  // namespace quern::distance_test
