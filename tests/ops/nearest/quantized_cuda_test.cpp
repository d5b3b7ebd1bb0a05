// SPDX-License-Identifier: Apache-2.0
// The k best of a tile by the filter on a GPU, compared with sorting the CPU's distances of everything: types, metrics,
// shapes that fill tiles and stages and that do not, ties, and data for which no filter helps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "ops/nearest/quantized/quantized.hpp"
#include "vectors_on_both.hpp"

namespace quern::quantized_cuda_test {
namespace {

using namespace nearest_detail;

constexpr vector_type quantized_types[] = {vector_type::f32, vector_type::f16, vector_type::bf16,
                                           vector_type::i16, vector_type::i8,  vector_type::u8};
constexpr vector_metric quantized_metrics[] = {vector_metric::l2, vector_metric::ip, vector_metric::cosine};

template <class Key>
struct best_rows {
    std::vector<Key> keys;
    std::vector<std::uint32_t> ids;
};

/// Everything sorted.
template <class Key>
best_rows<Key> ranked(cpu_place& cpu, const row_tile<cpu_place>& rows, const row_tile<cpu_place>& queries,
                      vector_metric metric, std::uint32_t k, const std::vector<std::uint64_t>& allowed) {
    std::vector<Key> keys(std::size_t{rows.rows} * queries.rows);
    distance_keys<Key>(cpu, rows, queries, metric, {}, keys);
    std::vector<std::uint32_t> ids;
    for (std::uint32_t i = 0; i < rows.rows; ++i)
        if (allowed.empty() || (allowed[i / 64] >> (i % 64) & 1) != 0) ids.push_back(i);
    best_rows<Key> best;
    for (std::uint32_t q = 0; q < queries.rows; ++q) {
        const Key* const mine = keys.data() + std::size_t{q} * rows.rows;
        std::vector<std::uint32_t> order = ids;
        std::partial_sort(
            order.begin(), order.begin() + k, order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return mine[a] != mine[b] ? mine[a] < mine[b] : a < b; });
        for (std::uint32_t j = 0; j < k; ++j) {
            best.ids.push_back(order[j]);
            best.keys.push_back(mine[order[j]]);
        }
    }
    return best;
}

struct requested {
    vector_metric metric = vector_metric::l2;
    std::uint32_t k = 10;
    std::vector<std::uint64_t> allowed = {};
};

template <class Key, class Gpu>
filter_counts expect_ranked(Gpu& gpu, cpu_place& cpu, const vectors_on_both<Gpu>& vectors,
                            const vectors_on_both<Gpu>& queries, const requested& what) {
    const best_rows<Key> expected =
        ranked<Key>(cpu, vectors.on_cpu, queries.on_cpu, what.metric, what.k, what.allowed);
    const guarded_array<Gpu, std::uint64_t> allowed(gpu, what.allowed);
    const guarded_array<Gpu, Key> keys(gpu, std::vector<Key>(expected.keys.size(), Key{0x5a5a5a5a}));
    const guarded_array<Gpu, std::uint32_t> ids(gpu, std::vector<std::uint32_t>(expected.ids.size()));
    const quantized_rows<Gpu> quantized(gpu, vectors.on_gpu, what.metric);
    const filter_counts counts = quantized_top_k<Key>(
        gpu, vectors.on_gpu, quantized, queries.on_gpu, what.metric, what.k,
        what.allowed.empty() ? span_on<Gpu, const std::uint64_t>() : allowed.view(), keys.span(), ids.span());
    const auto name = [&] {
        return ::testing::Message() << vector_type_names[static_cast<std::size_t>(vectors.host.type)] << " "
                                    << vector_metric_names[static_cast<std::size_t>(what.metric)] << ", "
                                    << vectors.host.dimensions << " dimensions, " << vectors.host.rows
                                    << " rows, " << queries.host.rows << " queries, k = " << what.k << ", "
                                    << counts.filtered << " filtered, " << counts.confirmed << " confirmed";
    };
    const std::vector<Key> found_keys = keys.host();
    const std::vector<std::uint32_t> found_ids = ids.host();
    for (std::size_t i = 0; i < found_ids.size(); ++i) {
        EXPECT_EQ(found_ids[i], expected.ids[i]) << name() << ": place " << i;
        EXPECT_EQ(found_keys[i], expected.keys[i]) << name() << ": place " << i;
        if (::testing::Test::HasFailure()) break;
    }
    return counts;
}

/// In keys of 32 bits if they fit, otherwise of 64.
template <class Gpu>
filter_counts expect_ranked(Gpu& gpu, cpu_place& cpu, const vectors_on_both<Gpu>& vectors,
                            const vectors_on_both<Gpu>& queries, const requested& what) {
    const integer_range range = {std::min(vectors.stats.range.least, queries.stats.range.least),
                                 std::max(vectors.stats.range.greatest, queries.stats.range.greatest)};
    if (is_float(vectors.host.type) || fits_32_bits(what.metric, range, vectors.host.dimensions))
        return expect_ranked<std::uint32_t>(gpu, cpu, vectors, queries, what);
    return expect_ranked<std::uint64_t>(gpu, cpu, vectors, queries, what);
}

std::uint32_t several_rounds() {
    return tested_with().small_sizes ? 4'200 : 30'011;
}

TEST(quantized_cuda, ranks_as_everything_sorted_for_every_type_and_metric) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        std::uint64_t seed = 1;
        for (const vector_type type : quantized_types) {
            for (const vector_metric metric : quantized_metrics) {
                for (const vector_sample kind :
                     {vector_sample::plain, vector_sample::ties, vector_sample::wide}) {
                    constexpr std::uint32_t dimensions[] = {1, 3, 16, 33, 100, 128, 130},
                                            counts[] = {1, 5, 17, 70};
                    const std::uint32_t d = dimensions[++seed % 7], many = counts[seed % 4];
                    const vectors_on_both vectors(gpu, cpu,
                                                  make_vectors(type, several_rounds(), d, kind, seed)),
                        queries(gpu, cpu, make_vectors(type, many, d, kind, seed + 1000));
                    expect_ranked(gpu, cpu, vectors, queries, {.metric = metric, .k = 10});
                    if (::testing::Test::HasFailure()) return;
                }
            }
        }
    });
}

TEST(quantized_cuda, ranks_for_any_number_of_queries_and_components) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        struct shape {
            std::uint32_t queries, dimensions;
        };
        // The last three do not keep their queries in shared memory; several slabs of rows, whole and not, before.
        for (const shape s :
             {shape{16, 128}, shape{17, 128}, shape{64, 256}, shape{65, 96}, shape{257, 160}, shape{600, 20},
              shape{70, 500}, shape{70, 784}, shape{20, 2'100}, shape{3, 8'200}}) {
            const std::uint32_t rows = s.dimensions > 500 ? 4'999 : several_rounds();
            const vectors_on_both vectors(
                gpu, cpu,
                make_vectors(vector_type::f32, rows, s.dimensions, vector_sample::plain, s.queries)),
                queries(gpu, cpu,
                        make_vectors(vector_type::f32, s.queries, s.dimensions, vector_sample::plain, 77));
            const filter_counts counts = expect_ranked(gpu, cpu, vectors, queries, {.k = 7});
            EXPECT_GE(counts.filtered, std::uint64_t{rows} * s.queries);
            if (::testing::Test::HasFailure()) return;
        }
    });
}

TEST(quantized_cuda, ranks_any_number_of_the_best) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        const std::uint32_t rows = several_rounds();
        for (const vector_sample kind : {vector_sample::plain, vector_sample::ties}) {
            const vectors_on_both vectors(gpu, cpu, make_vectors(vector_type::i8, rows, 24, kind, 5)),
                queries(gpu, cpu, make_vectors(vector_type::i8, 33, 24, kind, 6));
            for (const std::uint32_t k : {1u, 2u, 100u, 130u, rows / 32, rows / 32 + 1, rows - 1, rows}) {
                expect_ranked(gpu, cpu, vectors, queries, {.metric = vector_metric::ip, .k = k});
                if (::testing::Test::HasFailure()) return;
            }
        }
    });
}

TEST(quantized_cuda, ranks_what_is_allowed) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        const std::uint32_t rows = several_rounds() + 13'000;
        const vectors_on_both vectors(gpu, cpu,
                                      make_vectors(vector_type::f16, rows, 31, vector_sample::plain, 5)),
            queries(gpu, cpu, make_vectors(vector_type::f16, 18, 31, vector_sample::plain, 6));
        std::mt19937_64 random(1);
        for (const std::uint64_t one_in : {1u, 2u, 3u, 500u}) {
            std::vector<std::uint64_t> allowed((rows + 63) / 64);
            for (std::uint32_t i = 0; i < rows; ++i)
                if (random() % one_in == 0) allowed[i / 64] |= std::uint64_t{1} << (i % 64);
            expect_ranked(gpu, cpu, vectors, queries, {.k = 5, .allowed = allowed});
            if (::testing::Test::HasFailure()) return;
        }
        std::vector<std::uint64_t> half((rows + 63) / 64);  // the last half: no tile of the first has any
        for (std::uint32_t i = rows / 2; i < rows; ++i) half[i / 64] |= std::uint64_t{1} << (i % 64);
        expect_ranked(gpu, cpu, vectors, queries, {.k = 5, .allowed = half});
    });
}

TEST(quantized_cuda, ranks_where_no_filter_helps) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        const std::uint32_t rows = several_rounds(), d = 20;
        auto equal = make_vectors(vector_type::f32, rows, d, vector_sample::plain, 5);
        for (std::uint32_t i = 1; i < rows; ++i)
            std::copy_n(equal.data(), equal.stride, equal.data() + i * equal.stride);
        auto queries_too = make_vectors(vector_type::f32, 40, d, vector_sample::plain, 6);
        const vectors_on_both vectors(gpu, cpu, equal), queries(gpu, cpu, queries_too);
        for (const vector_metric metric : quantized_metrics)
            expect_ranked(gpu, cpu, vectors, queries, {.metric = metric, .k = 20});

        // All rows near one point, for some queries; other queries are elsewhere, where the filter distinguishes rows.
        auto near = make_vectors(vector_type::f32, rows, d, vector_sample::plain, 7);
        for (std::uint32_t i = 0; i < rows; ++i) {
            auto* const row = reinterpret_cast<float*>(near.data() + i * near.stride);
            if (i % 50 != 0)
                for (std::uint32_t j = 0; j < d; ++j) row[j] = 30.0f + row[j] * 0x1p-12f;
        }
        for (std::uint32_t j = 0; j < d; ++j)
            for (std::uint32_t q = 0; q < 40; q += 3)
                reinterpret_cast<float*>(queries_too.data() + q * queries_too.stride)[j] = 30.0f;
        const vectors_on_both crowd(gpu, cpu, near), around(gpu, cpu, queries_too);
        for (const vector_metric metric : quantized_metrics)
            expect_ranked(gpu, cpu, crowd, around, {.metric = metric, .k = 20});
    });
}

TEST(quantized_cuda, looks_at_few_exactly) {
    with_the_cpu([](auto& gpu, cpu_place& cpu) {
        if (tested_with().small_sizes) GTEST_SKIP() << "a set so small has a sample that is not";
        const std::uint32_t rows = 200'000, d = 64, many = 20, k = 10;
        const vectors_on_both vectors(gpu, cpu,
                                      make_vectors(vector_type::f32, rows, d, vector_sample::plain, 5)),
            queries(gpu, cpu, make_vectors(vector_type::f32, many, d, vector_sample::plain, 6));
        for (const vector_metric metric : quantized_metrics) {
            const filter_counts counts =
                expect_ranked(gpu, cpu, vectors, queries, {.metric = metric, .k = k});
            EXPECT_LT(counts.filtered, std::uint64_t{rows} * many + many * 1'000);
            EXPECT_LT(counts.confirmed, std::uint64_t{rows} * many / 10);
        }
    });
}

}  // namespace
}  // namespace quern::quantized_cuda_test
