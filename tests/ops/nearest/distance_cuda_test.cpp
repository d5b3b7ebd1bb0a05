// SPDX-License-Identifier: Apache-2.0
// Compares rank keys and statistics of a GPU with those of the CPU: the same bits, for every type, metric and shape.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ops/nearest/distance/components.hpp"
#include "ops/nearest/distance/rank_keys.hpp"
#include "ops/nearest/index/tile.hpp"
#include "vectors_on_both.hpp"

namespace quern::distance_cuda_test {
namespace {

using namespace nearest_detail;

constexpr vector_type all_types[] = {vector_type::f32, vector_type::f16, vector_type::bf16, vector_type::i16,
                                     vector_type::i8,  vector_type::u8,  vector_type::bits, vector_type::f64};

std::vector<vector_metric> metrics_of(vector_type type) {
    using enum vector_metric;
    if (type == vector_type::bits) return {hamming};
    std::vector<vector_metric> all{sql2, ip, cosine, l1, linf};
    if (type == vector_type::u8) all.push_back(hamming);
    return all;
}

/// The tile without its first row: it starts at a row, not at an aligned address.
template <class Place>
row_tile<Place> without_first_row(row_tile<Place> tile) {
    tile.rows -= 1;
    tile.values = tile.values.subspan(tile.stride);
    tile.squares = tile.squares.subspan(1);
    return tile;
}

template <class Key, class Gpu>
void expect_same_keys(Gpu& gpu, cpu_place& cpu, const row_tile<Gpu>& on_device,
                      const row_tile<cpu_place>& on_host, const row_tile<Gpu>& device_queries,
                      const row_tile<cpu_place>& queries, vector_metric metric,
                      const std::vector<std::uint32_t>& rows = {}) {
    const std::size_t count = std::size_t{queries.rows} * (rows.empty() ? on_host.rows : rows.size());
    std::vector<Key> expected(count);
    distance_keys<Key>(cpu, on_host, queries, metric, rows, expected);
    const guarded_array<Gpu, std::uint32_t> device_rows(gpu, rows);
    for (const bool reduction : {false, true}) {
        const guarded_array<Gpu, Key> keys(gpu, std::vector<Key>(count, Key{0x5a5a5a5a}));
        if (reduction)
            reduction_keys<Key>(gpu, on_device, device_queries, metric, device_rows.view(), keys.span());
        else
            distance_keys<Key>(gpu, on_device, device_queries, metric, device_rows.view(), keys.span());
        const std::vector<Key> found = keys.host();
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(found[i], expected[i])
                << vector_type_names[static_cast<std::size_t>(on_host.type)] << " "
                << vector_metric_names[static_cast<std::size_t>(metric)] << (reduction ? " by reduction" : "")
                << ", " << on_host.dimensions << " dimensions, " << on_host.rows << " rows, " << queries.rows
                << " queries, number " << i;
    }
    std::vector<std::uint64_t> pairs;  // as the filter produces them: some queries, some rows
    std::vector<Key> expected_of_pairs;
    std::mt19937_64 random(count);
    for (std::size_t i = 0; i < count && rows.empty(); i += 1 + random() % 5) {
        pairs.push_back(static_cast<std::uint64_t>(i / on_host.rows) << 32 | i % on_host.rows);
        expected_of_pairs.push_back(expected[i]);
    }
    const guarded_array<Gpu, std::uint64_t> device_pairs(gpu, pairs);
    const guarded_array<Gpu, Key> keys(gpu, std::vector<Key>(pairs.size(), Key{0x5a5a5a5a}));
    distance_keys_of_pairs<Key>(gpu, on_device, device_queries, metric, device_pairs.view(), keys.span());
    ASSERT_EQ(keys.host(), expected_of_pairs);
}

/// In keys of 32 bits if they fit, and of 64 if they exist.
template <class Gpu>
void expect_same_keys(Gpu& gpu, cpu_place& cpu, const vectors_on_both<Gpu>& vectors,
                      const vectors_on_both<Gpu>& queries, const std::vector<std::uint32_t>& rows = {}) {
    const vector_type type = vectors.host.type;
    const integer_range range = {std::min(vectors.stats.range.least, queries.stats.range.least),
                                 std::max(vectors.stats.range.greatest, queries.stats.range.greatest)};
    for (const vector_metric metric : metrics_of(type)) {
        const bool float_key = is_float(type) || metric == vector_metric::cosine;
        const auto compare = [&]<class Key>(Key) {
            expect_same_keys<Key>(gpu, cpu, vectors.on_gpu, vectors.on_cpu, queries.on_gpu, queries.on_cpu,
                                  metric, rows);
            if (::testing::Test::HasFatalFailure() || vectors.host.rows < 2 || queries.host.rows < 2 ||
                !rows.empty())
                return;
            expect_same_keys<Key>(gpu, cpu, without_first_row(vectors.on_gpu),
                                  without_first_row(vectors.on_cpu), without_first_row(queries.on_gpu),
                                  without_first_row(queries.on_cpu), metric);
        };
        const bool wide = has_wide_keys(type, metric, range, vectors.host.dimensions);
        if (!wide) compare(std::uint32_t{});
        if (wide || !float_key) compare(std::uint64_t{});
        if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST(distance_cuda, has_the_bits_of_the_cpu_for_every_type_metric_and_dimension) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        std::uint64_t seed = 1;
        for (const vector_type type : all_types) {
            for (const std::uint32_t d :
                 {1u,  2u,  3u,   4u,   7u,   8u,   12u,  15u,  16u,  17u,  24u,  31u,  32u,
                  33u, 64u, 100u, 127u, 128u, 129u, 144u, 256u, 259u, 392u, 784u, 1536u}) {
                for (const vector_sample kind : {vector_sample::wide, vector_sample::ties}) {
                    ++seed;
                    constexpr std::uint32_t row_counts[] = {0, 1, 2, 63, 300, 1025},
                                            query_counts[] = {1, 2, 5, 8, 19, 33};
                    const std::uint32_t rows = row_counts[seed * 7 / 3 % 6],
                                        requested = query_counts[seed * 5 / 3 % 6];
                    const vectors_on_both vectors(gpu, cpu, make_vectors(type, rows, d, kind, seed)),
                        queries(gpu, cpu, make_vectors(type, requested, d, kind, seed + 1));
                    expect_same_keys(gpu, cpu, vectors, queries);
                    if (::testing::Test::HasFatalFailure()) return;
                }
            }
        }
    });
}

TEST(distance_cuda, has_the_bits_of_the_cpu_for_rows_of_few_and_many_words) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        for (const vector_type type : {vector_type::f32, vector_type::f16, vector_type::bf16}) {
            for (const std::uint32_t words : {1u, 2u, 3u, 4u, 5u, 63u, 64u, 65u}) {
                const std::uint32_t d = words * (type == vector_type::f32 ? 4 : 8);
                const vectors_on_both vectors(gpu, cpu, make_vectors(type, 259, d, vector_sample::wide, d)),
                    queries(gpu, cpu, make_vectors(type, 2, d, vector_sample::wide, d + 1));
                expect_same_keys(gpu, cpu, vectors, queries);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    });
}

TEST(distance_cuda, has_the_bits_of_the_cpu_for_chosen_rows_and_great_dimensions) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        const std::uint32_t great = tested_with().small_sizes ? 5'003 : 70'001;
        std::vector<std::uint32_t> chosen;
        for (std::uint32_t i = 0; i < 301; ++i) chosen.push_back(i * 97 % 300);
        for (const vector_type type : all_types) {
            for (const std::uint32_t d : {3u, 100u, 128u}) {
                const vectors_on_both vectors(gpu, cpu, make_vectors(type, 300, d, vector_sample::wide, 5)),
                    queries(gpu, cpu, make_vectors(type, 19, d, vector_sample::wide, 6));
                expect_same_keys(gpu, cpu, vectors, queries, chosen);
            }
            for (const std::uint32_t d : {great, great / 16 * 16}) {
                const vectors_on_both vectors(gpu, cpu, make_vectors(type, 9, d, vector_sample::wide, 10)),
                    queries(gpu, cpu, make_vectors(type, 5, d, vector_sample::wide, 11));
                expect_same_keys(gpu, cpu, vectors, queries);
            }
            if (::testing::Test::HasFatalFailure()) return;
        }
    });
}

TEST(distance_cuda, has_the_bits_of_the_cpu_for_many_rows) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        const auto rows = static_cast<std::uint32_t>(large_size() / 30 + 1);
        for (const vector_type type : all_types) {
            for (const std::uint32_t d : {3u, 25u, 128u}) {
                const vectors_on_both vectors(gpu, cpu, make_vectors(type, rows, d, vector_sample::wide, 5)),
                    queries(gpu, cpu, make_vectors(type, 2, d, vector_sample::wide, 6));
                expect_same_keys(gpu, cpu, vectors, queries);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    });
}

TEST(row_stats_cuda, are_those_of_the_cpu) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        using gpu_place = std::remove_reference_t<decltype(gpu)>;
        for (const vector_type type : all_types) {
            for (const std::uint32_t d : {1u, 5u, 8u, 16u, 100u, 259u}) {
                for (const std::uint32_t rows : {0u, 1u, 40u, 3000u}) {
                    const auto kind = d == 5 ? vector_sample::ties : vector_sample::wide;
                    const vectors_on_both vectors(gpu, cpu, make_vectors(type, rows, d, kind, d + rows));
                    const guarded_array<gpu_place, double> squares(gpu, std::vector<double>(rows, -1));
                    const row_stats found = stats_of(gpu, vectors.on_gpu, squares.span());
                    EXPECT_EQ(found.bad_row, no_row);
                    EXPECT_EQ(found.greatest, vectors.stats.greatest);
                    EXPECT_EQ(found.greatest_row, vectors.stats.greatest_row);
                    EXPECT_EQ(found.range.least, vectors.stats.range.least);
                    EXPECT_EQ(found.range.greatest, vectors.stats.range.greatest);
                    EXPECT_EQ(squares.host(), vectors.squares);
                    const row_stats again = stats_of(gpu, vectors.on_gpu, {});
                    EXPECT_EQ(again.greatest_row, vectors.stats.greatest_row);
                }
            }
        }
    });
}

TEST(row_stats_cuda, name_the_first_bad_row) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        for (const std::uint32_t d : {1u, 3u, 16u, 37u, 300u}) {
            for (const std::uint32_t bad : {0u, 1u, 777u, 2999u}) {
                for (const vector_type type :
                     {vector_type::f32, vector_type::f16, vector_type::bf16, vector_type::f64}) {
                    auto vectors = make_vectors(type, 3000, d, vector_sample::wide, d);
                    const auto set = [&](std::uint32_t row, std::uint32_t j, float single, std::uint16_t half,
                                         std::uint16_t brain) {
                        std::byte* const at = vectors.data() + row * vectors.stride;
                        const auto wide = double{single};
                        if (type == vector_type::f64)
                            std::memcpy(at + 8 * std::size_t{j}, &wide, 8);
                        else if (type == vector_type::f32)
                            std::memcpy(at + 4 * std::size_t{j}, &single, 4);
                        else
                            std::memcpy(at + 2 * std::size_t{j}, type == vector_type::f16 ? &half : &brain,
                                        2);
                    };
                    set(2999, 0, std::nanf(""), 0x7e00, 0x7fc0);
                    set(bad, bad % d, -HUGE_VALF, 0xfc00, 0xff80);
                    const vectors_on_both both(gpu, cpu, vectors);
                    EXPECT_EQ(stats_of(gpu, both.on_gpu, {}).bad_row, bad);
                }
                auto bits = make_vectors(vector_type::bits, 3000, d, vector_sample::wide, d);
                if (d % 8 == 0) continue;
                bits.data()[bad * bits.stride + d / 8] |= static_cast<std::byte>(1u << (d % 8));
                const vectors_on_both both(gpu, cpu, bits);
                EXPECT_EQ(stats_of(gpu, both.on_gpu, {}).bad_row, bad);
            }
        }
    });
}

}  // namespace
}  // namespace quern::distance_cuda_test
