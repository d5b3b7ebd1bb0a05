// SPDX-License-Identifier: Apache-2.0
// The filter in 8-bit integers, on the CPU: no row as good as the limit is ever excluded, on data that is hard for bounds;
// and the k best rows are those of ranking everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../on_every_target.hpp"
#include "../../reference/retrieval_reference.hpp"
#include "ops/nearest/quantized/quantized.hpp"
#include "ops/nearest/quantized/quantized_cpu.hpp"
#include "vector_samples.hpp"

namespace quern::quantized_test {
namespace {

using namespace nearest_detail;
using enum vector_type;
using enum vector_metric;

std::string named(vector_type type, vector_metric metric) {
    return std::string(vector_type_names[static_cast<std::size_t>(type)]) + " " +
           std::string(vector_metric_names[static_cast<std::size_t>(metric)]);
}

/// Rows and queries with their statistics.
struct sample {
    sample_vectors rows, queries;
    std::vector<reference::numbers> a, b;
    std::vector<double> a_squares, b_squares;

    sample(sample_vectors of_rows, sample_vectors of_queries)
        : rows(std::move(of_rows)), queries(std::move(of_queries)) {
        a = reference::components_of(rows.view());
        b = reference::components_of(queries.view());
        for (const auto& row : a) a_squares.push_back(reference::canonical_squares(rows.type, row));
        for (const auto& row : b) b_squares.push_back(reference::canonical_squares(rows.type, row));
    }
    sample(vector_type type, std::uint32_t row_count, std::uint32_t query_count, std::uint32_t dimensions,
           vector_sample kind, std::uint64_t slack = 0)
        : sample(make_vectors(type, row_count, dimensions, kind, 3 * dimensions + 1, slack),
                 make_vectors(type, query_count, dimensions, kind, 5 * dimensions + 2)) {}

    static row_tile<cpu_place> tile_of(const sample_vectors& vectors, const std::vector<double>& squares) {
        const vectors_view view = vectors.view();
        return {.type = view.type,
                .rows = vectors.rows,
                .dimensions = view.dimensions,
                .stride = view.stride,
                .values = view.values,
                .squares = squares};
    }
    row_tile<cpu_place> tile() const { return tile_of(rows, a_squares); }
    row_tile<cpu_place> query_tile() const { return tile_of(queries, b_squares); }
};

sample_vectors floats_of(std::uint32_t rows, std::uint32_t dimensions,
                         const std::function<float(std::uint32_t row, std::uint32_t j)>& component) {
    sample_vectors made = make_vectors(f32, rows, dimensions, vector_sample::plain, 1);
    for (std::uint32_t i = 0; i < rows; ++i)
        for (std::uint32_t j = 0; j < dimensions; ++j) {
            const float value = component(i, j);
            std::memcpy(made.data() + i * made.stride + 4 * std::size_t{j}, &value, sizeof value);
        }
    return made;
}

/// Every row is a candidate if its own key is the limit. Returns the share of rows that are candidates for the key of the
/// best: the selectivity of the filter.
double expect_bounds_hold(const sample& data, vector_metric metric) {
    cpu_place place(context::cpu(1));
    const quantized_rows<cpu_place> made(place, data.tile(), metric);
    const quantized_rows<cpu_place>::state& quantized = made.get();
    std::size_t passed = 0, failures = 0;
    for (const product_method method :
         {product_method::pairs, product_method::short_sums, best_product_method()}) {
        const query_codes codes(quantized, data.query_tile(), method);
        std::vector<float> bounds(data.b.size() * block_rows);
        std::vector<float> limits(data.b.size());
        std::vector<std::uint64_t> masks(data.b.size());
        std::vector<std::vector<std::uint64_t>> keys(data.b.size());
        for (std::size_t q = 0; q < data.b.size(); ++q) {
            for (const auto& row : data.a)
                keys[q].push_back(
                    reference::canonical_key<std::uint64_t>(data.rows.type, metric, row, data.b[q]));
            const std::uint64_t best = *std::min_element(keys[q].begin(), keys[q].end());
            limits[q] = is_float(data.rows.type) || metric == cosine
                            ? limit_of_key(quantized.kind, codes.terms(q), static_cast<std::uint32_t>(best))
                            : limit_of_key(quantized.kind, codes.terms(q), best);
        }
        passed = 0;
        for (std::size_t block = 0; block < quantized.blocks(); ++block) {
            bound_block(quantized.coded(), block, codes.coded(), bounds.data(), codes.method());
            mark_candidates(quantized.coded(), block, 1, codes.coded(), limits.data(), masks.data(),
                            codes.method());
            for (std::size_t q = 0; q < data.b.size(); ++q)
                for (std::size_t r = 0; r < block_rows && block * block_rows + r < data.a.size(); ++r) {
                    const std::uint64_t key = keys[q][block * block_rows + r];
                    const float limit =
                        is_float(data.rows.type) || metric == cosine
                            ? limit_of_key(quantized.kind, codes.terms(q), static_cast<std::uint32_t>(key))
                            : limit_of_key(quantized.kind, codes.terms(q), key);
                    const float bound = bounds[q * block_rows + r];
                    failures += is_candidate(bound, limit) ? 0 : 1;
                    const bool marked = (masks[q] >> r & 1) != 0;
                    failures += marked == is_candidate(bound, limits[q]) ? 0 : 1;
                    passed += marked ? 1 : 0;
                }
        }
    }
    EXPECT_EQ(failures, 0u) << named(data.rows.type, metric) << ", " << data.rows.dimensions << " dimensions";
    return static_cast<double>(passed) / static_cast<double>(data.a.size() * data.b.size());
}

TEST(quantized_bounds, no_row_as_good_as_the_limit_is_excluded) {
    on_every_target([] {
        for (const std::uint32_t dimensions : {1u, 3u, 17u, 100u})
            for (const vector_sample kind : {vector_sample::wide, vector_sample::plain, vector_sample::ties})
                for (const vector_type type : {f32, f16, bf16, i16, i8, u8}) {
                    const sample data(type, 130, 7, dimensions, kind, 4);
                    for (const vector_metric metric : {sql2, ip, cosine}) expect_bounds_hold(data, metric);
                }
    });
}

TEST(quantized_bounds, hold_for_every_magnitude_and_far_from_the_origin) {
    for (const float magnitude :
         {0x1p-149f, 0x1p-140f, 0x1p-80f, 0x1p-64f, 0x1p-50f, 0x1p-30f, 0x1p30f, 0x1p55f}) {
        std::mt19937_64 random(7);
        const auto component = [&](std::uint32_t, std::uint32_t) {
            return static_cast<float>(static_cast<int>(random() % 201) - 100) * magnitude;
        };
        const sample data(floats_of(100, 24, component), floats_of(3, 24, component));
        for (const vector_metric metric : {sql2, ip, cosine}) {
            SCOPED_TRACE(magnitude);
            expect_bounds_hold(data, metric);
        }
    }
    // Squares of differences overflow: all of these distances are infinite, and equal.
    const auto far = [](std::uint32_t i, std::uint32_t j) {
        return ((i + j) % 2 == 0 ? 1.0f : -1.0f) * 0x1p127f;
    };
    expect_bounds_hold({floats_of(70, 5, far), floats_of(2, 5, far)}, sql2);
    std::mt19937_64 random(8);
    const auto extra = [&](std::uint32_t, std::uint32_t) {
        return 1000.0f + static_cast<float>(random() >> 40) * 0x1p-24f;
    };
    EXPECT_LT(expect_bounds_hold({floats_of(1000, 32, extra), floats_of(8, 32, extra)}, sql2), 0.01);
}

TEST(quantized_bounds, hold_at_the_most_dimensions) {
    std::mt19937_64 random(9);
    const auto component = [&](std::uint32_t i, std::uint32_t) {
        return i % 2 == 0 ? 127.0f : static_cast<float>(random() % 255) - 127.0f;
    };
    const sample data(floats_of(3, 65'536, component), floats_of(2, 65'536, component));
    for (const vector_metric metric : {sql2, ip, cosine}) expect_bounds_hold(data, metric);
}

// Codes are exact here, so that only the bounds on canonical sums in single precision keep these rows.
TEST(quantized_bounds, know_what_canonical_sums_lose) {
    constexpr std::uint32_t dimensions = 65'536;
    // Every part below half a unit of the sums is lost: canonical distances are too short. The centre is 0.
    const auto lost = [](std::uint32_t i, std::uint32_t j) {
        return (i % 2 == 0 ? 1.0f : -1.0f) * (j < partial_sums ? 64.0f : 0.0156f);
    };
    const auto origin = [](std::uint32_t, std::uint32_t) { return 0.0f; };
    expect_bounds_hold({floats_of(2, dimensions, lost), floats_of(1, dimensions, origin)}, sql2);
    // 127 · 113 is rounded up and both squares down, repeatedly, once sums are beyond 2^25.
    const auto rows = [](std::uint32_t i, std::uint32_t j) { return j / 16 % 8 < i ? 0.0f : 127.0f; };
    const auto query = [](std::uint32_t, std::uint32_t) { return 113.0f; };
    const sample data(floats_of(2, dimensions, rows), floats_of(1, dimensions, query));
    for (const vector_metric metric : {ip, cosine}) expect_bounds_hold(data, metric);
}

// Where all components are equal, sums of four products are the largest.
TEST(quantized_bounds, hold_where_short_sums_are_largest) {
    on_every_target([] {
        for (const float sign : {1.0f, -1.0f})
            for (const std::uint32_t dimensions : {4u, 8u, 20u}) {
                const auto rows = [&](std::uint32_t i, std::uint32_t) {
                    return i % 3 == 0 ? sign * 0.3f : sign * (0.3f - 0.001f * static_cast<float>(i));
                };
                const auto query = [&](std::uint32_t, std::uint32_t) { return sign * 0.7f; };
                const sample data(floats_of(70, dimensions, rows), floats_of(7, dimensions, query));
                for (const vector_metric metric : {sql2, ip, cosine}) expect_bounds_hold(data, metric);
            }
    });
}

TEST(quantized_kernels, code_queries_so_that_short_sums_hold_them) {
    // Of the first four, 0, 1, 4 and 5 are added, of the others 2, 3, 6 and 7.
    const std::int8_t codes[] = {100, 20, -3, -4, 7, -50, -5, 6, 90, 0, 0, 9};
    EXPECT_EQ(largest_short_sum(codes, 8), 127);
    EXPECT_EQ(largest_short_sum(codes + 4, 8), 97);
    EXPECT_EQ(largest_short_sum(codes + 8, 4), 90);

    cpu_place place(context::cpu(1));
    std::mt19937_64 random(10);
    const auto real = [&](std::uint32_t, std::uint32_t) {
        return static_cast<float>(random() >> 40) * 0x1p-24f;
    };
    const sample reals(floats_of(70, 36, real), floats_of(9, 36, real));
    const quantized_rows<cpu_place> coarse(place, reals.tile(), ip);
    const query_codes coded(coarse.get(), reals.query_tile(), product_method::short_sums);
    EXPECT_EQ(coded.method(), product_method::short_sums);
    for (std::size_t q = 0; q < 9; ++q) {
        const std::int32_t largest = largest_short_sum(coded.coded(q, 1).codes, 36);
        EXPECT_LE(largest, max_short_sum);
        EXPECT_GE(largest, max_short_sum - 12);  // no coarser than necessary
    }
    const auto whole = [&](std::uint32_t, std::uint32_t) { return static_cast<float>(random() % 128); };
    const sample integers(floats_of(70, 36, whole), floats_of(9, 36, whole));
    const quantized_rows<cpu_place> exact(place, integers.tile(), ip);
    const query_codes kept(exact.get(), integers.query_tile(), product_method::short_sums);
    EXPECT_EQ(kept.method(), product_method::pairs);
    for (std::size_t j = 0; j < 36; ++j)
        EXPECT_EQ(static_cast<float>(kept.coded().codes[j]), static_cast<float>(integers.b[0][j]));
}

TEST(quantized_bounds, leave_little_open) {
    for (const vector_type type : {f32, f16, bf16, i16, i8, u8}) {
        const sample data(type, 2000, 8, 64, vector_sample::plain);
        for (const vector_metric metric : {sql2, ip, cosine})
            EXPECT_LT(expect_bounds_hold(data, metric), type == bf16 ? 0.01 : 0.005) << named(type, metric);
    }
}

TEST(quantized_kernels, widen_every_half_exactly) {
    std::vector<std::uint16_t> halves;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
        if ((bits & 0x7c00u) != 0x7c00u) halves.push_back(static_cast<std::uint16_t>(bits));
    halves.pop_back();  // an odd number
    on_every_target([&] {
        std::vector<float> wide(halves.size());
        widen_halves(halves.data(), halves.size(), wide.data());
        std::size_t different = 0;
        for (std::size_t i = 0; i < halves.size(); ++i)
            different += double{wide[i]} == reference::half_as_double(halves[i]) ? 0 : 1;
        EXPECT_EQ(different, 0u);
    });
}

// ---- The k best ----

template <class Key>
filter_counts expect_best(const sample& data, vector_metric metric, std::uint32_t k, unsigned threads,
                          const std::vector<std::uint64_t>& allowed = {}) {
    cpu_place place(context::cpu(threads));
    const quantized_rows<cpu_place> quantized(place, data.tile(), metric);
    const std::size_t count = data.b.size();
    std::vector<Key> keys(count * k + 2, Key{77});
    std::vector<std::uint32_t> ids(count * k + 2, 77u);
    const filter_counts counts =
        quantized_top_k<Key>(place, data.tile(), quantized, data.query_tile(), metric, k, allowed,
                             std::span(keys).subspan(1, count * k), std::span(ids).subspan(1, count * k));
    EXPECT_EQ(keys.front(), Key{77});
    EXPECT_EQ(ids.back(), 77u);
    std::size_t different = 0;
    for (std::size_t q = 0; q < count; ++q) {
        std::vector<std::pair<Key, std::uint32_t>> all;
        for (std::uint32_t i = 0; i < data.a.size(); ++i)
            if (allowed.empty() || (allowed[i / 64] >> (i % 64) & 1) != 0)
                all.emplace_back(reference::canonical_key<Key>(data.rows.type, metric, data.a[i], data.b[q]),
                                 i);
        std::sort(all.begin(), all.end());
        for (std::size_t j = 0; j < k; ++j)
            different += all[j] == std::pair(keys[1 + q * k + j], ids[1 + q * k + j]) ? 0 : 1;
    }
    EXPECT_EQ(different, 0u) << named(data.rows.type, metric) << ", k = " << k;
    return counts;
}

TEST(quantized_top_k, is_the_ranking_of_everything) {
    for (const vector_type type : {f32, f16, bf16, i16, i8, u8}) {
        const sample data(type, 5000, 9, 33, vector_sample::plain, 8);
        for (const vector_metric metric : {l2, ip, cosine}) {
            for (const unsigned threads : {1u, 5u})
                for (const std::uint32_t k : {1u, 100u}) {
                    const filter_counts counts = expect_best<std::uint32_t>(data, metric, k, threads);
                    EXPECT_GE(counts.filtered, 5000u * 9u);
                    EXPECT_LT(counts.confirmed, 5000u * 9u / 4) << named(type, metric);
                }
            if (!is_float(type) && metric != cosine) expect_best<std::uint64_t>(data, metric, 10, 5);
        }
    }
}

TEST(quantized_top_k, is_exact_where_the_filter_is_useless) {
    for (const vector_type type : {f32, i16, u8})
        for (const vector_metric metric : {sql2, ip, cosine}) {
            const auto expect = [&](const sample& data, std::uint32_t k) {
                if (is_float(type) || metric == cosine)
                    expect_best<std::uint32_t>(data, metric, k, 5);
                else
                    expect_best<std::uint64_t>(data, metric, k, 5);
            };
            // Ties by the thousand; and every magnitude, where few long rows dominate.
            expect({type, 6000, 3, 2, vector_sample::ties}, 50);
            expect({type, 6000, 3, 1, vector_sample::wide}, 50);
            expect({type, 6000, 3, 20, vector_sample::wide}, 5);
        }
    // Equal rows only.
    const auto same = [](std::uint32_t, std::uint32_t j) { return static_cast<float>(j); };
    const sample equal(floats_of(5000, 7, same), floats_of(2, 7, same));
    for (const vector_metric metric : {sql2, ip, cosine}) {
        const filter_counts counts = expect_best<std::uint32_t>(equal, metric, 20, 1);
        EXPECT_GE(counts.confirmed, 2u * 5000u);  // they all tie, and the filter says so
    }
    // Infinite distances, and rows of the length 0.
    const auto far = [](std::uint32_t i, std::uint32_t j) {
        return i % 3 == 0 ? 0.0f : (i + j) % 2 == 0 ? 0x1p127f : -0x1p127f;
    };
    expect_best<std::uint32_t>({floats_of(5000, 3, far), floats_of(3, 3, far)}, sql2, 30, 5);
    const auto some_zeros = [](std::uint32_t i, std::uint32_t j) {
        return i % 3 == 0 ? 0.0f : static_cast<float>(i * 7 + j * 5 + i * j % 11);
    };
    for (const vector_metric metric : {ip, cosine})
        expect_best<std::uint32_t>({floats_of(5000, 3, some_zeros), floats_of(3, 3, some_zeros)}, metric, 30,
                                   5);
}

TEST(quantized_top_k, finds_rows_that_come_ever_nearer) {
    // Each row is better than all earlier ones; and the best are at the end, where no sample was taken.
    const auto nearer = [](std::uint32_t i, std::uint32_t j) {
        return j == 0 ? 8.0f - static_cast<float>(i) / 1000.0f : static_cast<float>(i * 31 % 17 + j) / 64.0f;
    };
    const auto origin = [](std::uint32_t, std::uint32_t) { return 0.0f; };
    for (const unsigned threads : {1u, 5u})
        expect_best<std::uint32_t>({floats_of(8000, 12, nearer), floats_of(7, 12, origin)}, sql2, 100,
                                   threads);
}

TEST(quantized_top_k, takes_only_rows_that_are_allowed) {
    std::mt19937_64 random(11);
    const sample data(f32, 5001, 4, 24, vector_sample::plain);
    for (const unsigned one_in : {2u, 30u, 400u}) {
        std::vector<std::uint64_t> allowed((5001 + 63) / 64, 0);
        for (std::uint32_t i = 0; i < 5001; ++i)
            if (random() % one_in == 0 || i >= 4990) allowed[i / 64] |= std::uint64_t{1} << (i % 64);
        allowed.back() |= ~std::uint64_t{0} << (5001 % 64);  // of rows that do not exist
        for (const vector_metric metric : {l2, ip, cosine})
            for (const std::uint32_t k : {1u, 11u}) expect_best<std::uint32_t>(data, metric, k, 5, allowed);
    }
    // All allowed rows are contiguous.
    std::vector<std::uint64_t> together((5001 + 63) / 64, 0);
    together[40] = together[41] = ~std::uint64_t{0};
    expect_best<std::uint32_t>(data, l2, 128, 5, together);
}

TEST(quantized_top_k, takes_any_number_of_rows_queries_and_k) {
    const sample small(i8, 64, 2, 5, vector_sample::plain), none(i8, 64, 0, 5, vector_sample::plain);
    for (const std::uint32_t k : {1u, 63u, 64u}) expect_best<std::uint32_t>(small, l2, k, 5);
    expect_best<std::uint32_t>(none, l2, 3, 5);
    const sample some(f32, 4100, 300, 8, vector_sample::plain);  // more queries than are taken at a time
    expect_best<std::uint32_t>(some, sql2, 3, 5);
    const sample few(f32, 4096, 2, 8, vector_sample::plain);
    for (const std::uint32_t k : {255u, 256u, 257u, 4096u}) expect_best<std::uint32_t>(few, cosine, k, 1);
}

TEST(quantized_top_k, is_the_same_with_every_instruction_set) {
    const sample data(f32, 4500, 8, 50, vector_sample::plain);
    on_every_target([&] { expect_best<std::uint32_t>(data, l2, 10, 1); });
}

}  // namespace
}  // namespace quern::quantized_test
