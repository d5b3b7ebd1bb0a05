// SPDX-License-Identifier: Apache-2.0
// Against one-sided Jacobi in double: singular values, and the subspaces of well separated ones. The same bits for any
// number of threads and on every instruction set.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <random>

#include "on_every_target.hpp"
#include "ops/word_similarity/vectors/svd.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"
#include "reference/svd_reference.hpp"

namespace quern::truncated_svd_test {
namespace {

using namespace quern::word_similarity_detail;

using dense = std::vector<std::vector<double>>;

context_matrix sparse(const dense& rows, std::size_t columns) {
    context_matrix m;
    m.words = static_cast<std::uint32_t>(rows.size());
    m.relations = 1;
    m.offsets = {0};
    m.column_counts.resize(columns, 1);
    for (const auto& row : rows) {
        for (std::size_t c = 0; c < columns; ++c)
            if (row[c] != 0) {
                m.columns.push_back(static_cast<std::uint32_t>(c));
                m.weights.push_back(static_cast<float>(row[c]));
            }
        m.offsets.push_back(m.columns.size());
    }
    return m;
}

// Sparse, with rows of very different lengths and some empty ones; values are floats.
dense random_matrix(std::size_t rows, std::size_t columns, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> weight(0.01f, 9.0f);
    dense m(rows, std::vector<double>(columns));
    for (auto& row : m) {
        const std::uint64_t one_in = random() % 9;
        for (double& x : row)
            if (one_in != 0 && random() % one_in == 0) x = weight(random);
    }
    return m;
}

// The product of two random matrices with `rank` columns, rounded to floats: that many significant singular values.
dense matrix_of_rank(std::size_t rows, std::size_t columns, std::size_t rank, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    dense left(rows, std::vector<double>(rank)), right(rank, std::vector<double>(columns)), m = dense(rows);
    for (auto& row : left)
        for (double& x : row) x = static_cast<double>(random() % 17) - 8;  // integers: the product is exact
    for (auto& row : right)
        for (double& x : row) x = static_cast<double>(random() % 17) - 8;
    for (std::size_t r = 0; r < rows; ++r) {
        m[r].resize(columns);
        for (std::size_t k = 0; k < rank; ++k)
            for (std::size_t c = 0; c < columns; ++c) m[r][c] += left[r][k] * right[k][c];
    }
    return m;
}

word_vectors reduced(const dense& m, unsigned dimensions, unsigned threads = 1, unsigned iterations = 4) {
    return truncated_svd(sparse(m, m.empty() ? 0 : m[0].size()).view(), {dimensions, iterations, 0},
                         context::cpu(threads));
}

// Values within `tolerance` of the greatest; a vector whose value is well separated equals the reference's within the
// allowed error; columns are orthogonal; signs as promised.
void expect_decomposes(const word_vectors& v, const dense& m, double tolerance) {
    const auto expected = reference::decompose(m);
    const double first = expected.values.empty() ? 0 : expected.values[0];
    ASSERT_EQ(v.words, m.size());
    ASSERT_EQ(v.values.size(), std::size_t{v.words} * v.dimensions);
    ASSERT_EQ(v.singular_values.size(), v.dimensions);
    for (std::size_t j = 0; j < v.dimensions; ++j) {
        const double value = j < expected.values.size() ? expected.values[j] : 0;
        ASSERT_NEAR(v.singular_values[j], value, tolerance * first) << j;
        const double above = j == 0 ? 2 * value : expected.values[j - 1];
        const double below = j + 1 < expected.values.size() ? expected.values[j + 1] : 0;
        const double apart = std::min(above - value, value - below) / (first + 1e-300);
        double along = 0, length_squared = 0, greatest = 0;
        for (std::size_t r = 0; r < v.words; ++r) {
            const double x = v.values[r * v.dimensions + j];
            if (j < expected.left.size()) along += x * expected.left[j][r];
            length_squared += x * x;
            if (std::fabs(x) > std::fabs(greatest)) greatest = x;
        }
        ASSERT_GE(greatest, 0) << j;
        ASSERT_NEAR(std::sqrt(length_squared), v.singular_values[j], 1e-5 * first) << j;
        if (apart > 100 * tolerance && value > 1e-3 * first) {
            ASSERT_NEAR(std::fabs(along) / value, 1, 10 * tolerance / apart) << j;
        }
        for (std::size_t k = 0; k < j; ++k) {
            double dot = 0;
            for (std::size_t r = 0; r < v.words; ++r)
                dot += double{v.values[r * v.dimensions + j]} * v.values[r * v.dimensions + k];
            ASSERT_NEAR(dot, 0, 1e-5 * first * first) << j << ' ' << k;
        }
    }
}

TEST(truncated_svd, whole_spaces_match_jacobi) {
    for (const auto& [rows, columns] : std::vector<std::pair<std::size_t, std::size_t>>{
             {1, 1}, {1, 40}, {40, 1}, {2, 3}, {17, 17}, {33, 31}, {31, 33}, {64, 100}, {100, 64}}) {
        SCOPED_TRACE(rows * 1000 + columns);
        const dense m = random_matrix(rows, columns, rows * 7 + columns);
        expect_decomposes(reduced(m, 40), m, 2e-6);
    }
}

// More rows and columns than the space has: the requested values have converged, others follow.
TEST(truncated_svd, krylov_spaces_match_jacobi) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<std::size_t, std::size_t>>{{130, 150}, {150, 130}, {140, 140}}) {
        SCOPED_TRACE(rows * 1000 + columns);
        dense m = random_matrix(rows, columns, rows + columns);
        const dense strong = matrix_of_rank(rows, columns, 12, rows);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c) m[r][c] += static_cast<float>(strong[r][c]);
        for (auto& row : m)
            for (double& x : row) x = static_cast<float>(x);
        expect_decomposes(reduced(m, 12, 2), m, 2e-6);
        expect_decomposes(reduced(m, 5, 2, 6), m, 2e-6);
    }
}

// The slowest possible spectrum, with all dimensions requested at once: bounded by the method's promise.
TEST(truncated_svd, slowly_falling_spectra_are_approached_from_below) {
    const dense m = random_matrix(240, 260, 5);
    const auto expected = reference::decompose(m);
    double last_error = std::numeric_limits<double>::infinity();
    for (const unsigned iterations : {0u, 2u, 4u, 6u}) {  // spaces of 32, 96, 160 and 224 of 240 dimensions
        const auto v = reduced(m, 20, 2, iterations);
        double error = 0;
        for (std::size_t j = 0; j < 20; ++j) {
            EXPECT_LE(v.singular_values[j], expected.values[j] * (1 + 1e-6));
            error = std::max(error, 1 - v.singular_values[j] / expected.values[j]);
        }
        EXPECT_LT(error, last_error) << iterations;
        last_error = error;
    }
    EXPECT_LT(last_error, 1e-3);
}

// A slowly falling spectrum again, by the defaults: the space grows until every value is right, however few are requested.
TEST(truncated_svd, values_and_vectors_are_right_for_any_number_of_dimensions) {
    const dense m = random_matrix(420, 400, 8);
    const context_matrix s = sparse(m, 400);
    const auto expected = reference::decompose(m);
    for (const unsigned dimensions : {1U, 3U, 16U, 17U, 33U, 50U, 90U}) {
        SCOPED_TRACE(dimensions);
        const auto v = truncated_svd(s.view(), {.dimensions = dimensions}, context::cpu(2));
        for (std::size_t j = 0; j < dimensions; ++j)
            EXPECT_NEAR(v.singular_values[j], expected.values[j], 1e-6 * expected.values[j]) << j;
        // The part of each true vector that lies in the space found; the last ones may mix with the first that is missing.
        for (std::size_t j = 0; j + 1 < dimensions; ++j) {
            double inside = 0;
            for (std::size_t k = 0; k < dimensions; ++k) {
                double along = 0;
                for (std::size_t r = 0; r < m.size(); ++r)
                    along += v.values[r * dimensions + k] * expected.left[j][r];
                inside += along * along / (v.singular_values[k] * v.singular_values[k]);
            }
            EXPECT_NEAR(inside, 1, 1e-4) << j;
        }
    }
}

TEST(truncated_svd, more_iterations_than_needed_change_nothing) {
    const dense m = random_matrix(420, 400, 8);
    const context_matrix s = sparse(m, 400);
    const auto some = truncated_svd(s.view(), {.dimensions = 20, .iterations = 20}, context::cpu(2)),
               most = truncated_svd(s.view(), {.dimensions = 20, .iterations = 64}, context::cpu(1));
    EXPECT_EQ(some.values, most.values);
    EXPECT_EQ(some.singular_values, most.singular_values);
}

TEST(truncated_svd, what_lies_beyond_the_rank_is_zero) {
    for (const auto& [rows, columns, rank] : std::vector<std::array<std::size_t, 3>>{
             {60, 80, 7}, {900, 700, 5}, {700, 900, 40}, {500, 500, 1}, {2000, 300, 20}}) {
        SCOPED_TRACE(rows * 10'000 + rank);
        const dense m = matrix_of_rank(rows, columns, rank, rows + rank);
        const auto v = reduced(m, 50, 2);
        for (std::size_t j = 0; j < 50; ++j) {
            if (j < rank)
                EXPECT_GT(v.singular_values[j], 0) << j;
            else
                EXPECT_EQ(v.singular_values[j], 0) << j;
            for (std::size_t r = 0; j >= rank && r < rows; ++r) ASSERT_EQ(v.values[r * 50 + j], 0);
        }
    }
    const dense m = matrix_of_rank(70, 50, 6, 1);
    expect_decomposes(reduced(m, 50), m, 2e-6);
}

TEST(truncated_svd, equal_singular_values_are_all_found) {
    // A multiple of the identity: its Krylov space never grows by itself.
    dense m(300, std::vector<double>(320));
    for (std::size_t r = 0; r < 300; ++r) m[r][r + 10] = 2.5;
    const auto v = reduced(m, 60);
    for (const double value : v.singular_values) EXPECT_NEAR(value, 2.5, 1e-5);
}

TEST(truncated_svd, matrices_without_weight_give_zeros) {
    for (const std::size_t rows : {0, 1, 5}) {
        const auto v = reduced(dense(rows, std::vector<double>(4)), 3);
        EXPECT_EQ(v.words, rows);
        EXPECT_EQ(v.dimensions, std::min<std::size_t>(rows, 3));
        EXPECT_EQ(v.values, std::vector<float>(rows * v.dimensions));
        EXPECT_EQ(v.singular_values, std::vector<double>(v.dimensions));
    }
    EXPECT_EQ(truncated_svd({}, {}, context::cpu(1)).words, 0u);
    context_matrix no_columns;
    no_columns.words = 3;
    no_columns.offsets = {0, 0, 0, 0};
    EXPECT_EQ(truncated_svd(no_columns.view(), {}, context::cpu(1)).dimensions, 0u);
}

TEST(truncated_svd, one_full_row_and_one_full_column) {
    dense m(120, std::vector<double>(150));
    for (double& x : m[23]) x = 3;
    for (auto& row : m) row[77] = 2;
    expect_decomposes(reduced(m, 10), m, 2e-6);
}

TEST(truncated_svd, extreme_weights_scale_out) {
    const dense m = random_matrix(200, 150, 3);
    for (const double scale : {0x1p100, 0x1p-100}) {
        dense scaled = m;
        for (auto& row : scaled)
            for (double& x : row) x *= scale;
        const auto plain = reduced(m, 8), far = reduced(scaled, 8);
        for (std::size_t j = 0; j < 8; ++j)
            EXPECT_EQ(far.singular_values[j], plain.singular_values[j] * scale);
    }
}

TEST(truncated_svd, the_same_bits_for_any_threads_and_instruction_set) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<std::size_t, std::size_t>>{{1300, 400}, {400, 1300}}) {
        const context_matrix m = sparse(random_matrix(rows, columns, 9), columns);
        const svd_options options{45, 3, 7};
        const auto expected = truncated_svd(m.view(), options, context::cpu(1));
        const auto same = [&](unsigned threads) {
            const auto v = truncated_svd(m.view(), options, context::cpu(threads));
            EXPECT_EQ(v.values, expected.values);
            EXPECT_EQ(v.singular_values, expected.singular_values);
        };
        same(2);
        same(5);
        on_every_target([&] { same(2); });
    }
}

// Many threads make further blocks while one finds eigenvectors: also where the space is to grow no more, or cannot.
TEST(truncated_svd, blocks_made_meanwhile_change_nothing) {
    const context_matrix slowly = sparse(random_matrix(1100, 700, 4), 700),
                         at_once = sparse(matrix_of_rank(900, 600, 5, 3), 600),
                         small = sparse(random_matrix(400, 330, 6), 330);
    for (const context_matrix* m : {&slowly, &at_once, &small}) {
        for (const unsigned dimensions : {5U, 33U}) {
            const auto expected = truncated_svd(m->view(), {.dimensions = dimensions}, context::cpu(1));
            for (const unsigned threads : {4U, 8U}) {
                const auto v = truncated_svd(m->view(), {.dimensions = dimensions}, context::cpu(threads));
                EXPECT_EQ(v.values, expected.values) << dimensions << " " << threads;
                EXPECT_EQ(v.singular_values, expected.singular_values);
            }
        }
    }
}

TEST(truncated_svd, another_seed_is_another_way_to_the_same) {
    const dense m = matrix_of_rank(500, 600, 9, 2);
    const context_matrix s = sparse(m, 600);
    const auto a = truncated_svd(s.view(), {9, 4, 1}, context::cpu(1)),
               b = truncated_svd(s.view(), {9, 4, 2}, context::cpu(1));
    EXPECT_NE(a.values, b.values);
    for (std::size_t j = 0; j < 9; ++j)
        EXPECT_NEAR(a.singular_values[j], b.singular_values[j], 1e-5 * a.singular_values[0]);
}

TEST(truncated_svd, refuses_what_is_no_matrix) {
    const context_matrix good = sparse(random_matrix(20, 20, 1), 20);
    const auto refused = [&](const auto& change) {
        context_matrix bad = good;
        svd_options options;
        change(bad, options);
        EXPECT_THROW(truncated_svd(bad.view(), options, context::cpu(1)), usage_error);
    };
    refused([](auto&, auto& o) { o.dimensions = 0; });
    refused([](auto&, auto& o) { o.dimensions = 4097; });
    refused([](auto&, auto& o) { o.iterations = 65; });
    refused([](auto& m, auto&) { m.columns.back() = 20; });
    refused([](auto& m, auto&) { m.weights.back() = std::numeric_limits<float>::quiet_NaN(); });
    refused([](auto& m, auto&) { m.weights.pop_back(); });
    refused([](auto& m, auto&) { m.offsets.pop_back(); });
    refused([](auto& m, auto&) { m.offsets[3] = m.offsets[2] - 1; });
    refused([](auto& m, auto&) { m.words = 0; });
}

TEST(truncated_svd, names_the_first_entry_that_is_wrong_for_any_threads) {
    for (const unsigned threads : {1U, 2U, 8U}) {
        context_matrix bad = sparse(dense(1000, std::vector<double>(300, 1.0)), 300);
        bad.weights[290'000] = std::numeric_limits<float>::infinity();
        bad.columns[150'001] = 300;
        try {
            truncated_svd(bad.view(), {}, context::cpu(threads));
            FAIL() << threads;
        } catch (const usage_error& found) {
            EXPECT_STREQ(found.what(), "entry 150001 is in a column past the matrix's last") << threads;
        }
    }
}

TEST(truncated_svd, stops_when_requested) {
    const std::atomic<int> stop{2};
    context ctx = context::cpu(2);
    ctx.stop_signal = &stop;
    EXPECT_THROW(truncated_svd(sparse(random_matrix(300, 300, 1), 300).view(), {}, ctx), interrupted);
}

// Its parts, each against the definition.

TEST(reduce_eigen, matches_its_definition) {
    cpu_place place(context::cpu(3));
    for (const std::size_t size : {1, 2, 3, 17, 40, 65, 150, 600}) {
        SCOPED_TRACE(size);
        const std::size_t stride = whole_groups(size);
        std::mt19937_64 random(size);
        std::vector<double> matrix(size * stride);
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = 0; j <= i; ++j)
                if (size % 2 == 1 || (i + j) % 3 == 0)
                    matrix[i * stride + j] = matrix[j * stride + i] =
                        static_cast<double>(random() % 2001) / 1000 - 1;
        const std::vector<double> before = matrix;
        const std::size_t wanted = std::min<std::size_t>(size, 50);
        const auto found = symmetric_eigen(place, size, matrix.data(), wanted);
        ASSERT_EQ(found.values.size(), size);
        EXPECT_TRUE(std::is_sorted(found.values.rbegin(), found.values.rend()));
        const double tolerance = 1e-14 * static_cast<double>(size);
        const auto vector = [&](std::size_t i, std::size_t j) {
            return found.vectors.data()[i * found.stride + j];
        };
        for (std::size_t j = 0; j < wanted; ++j) {
            for (std::size_t i = 0; i < size; ++i) {
                double product = 0;
                for (std::size_t k = 0; k < size; ++k) product += before[i * stride + k] * vector(k, j);
                ASSERT_NEAR(product, found.values[j] * vector(i, j), tolerance) << i << ' ' << j;
            }
            for (std::size_t k = 0; k <= j; ++k) {
                double dot = 0;
                for (std::size_t i = 0; i < size; ++i) dot += vector(i, j) * vector(i, k);
                ASSERT_NEAR(dot, j == k ? 1 : 0, tolerance);
            }
        }
    }
}

TEST(reduce_blocks, orthonormalises_whatever_it_is_given) {
    cpu_place place(context::cpu(2));
    constexpr std::size_t rows = 1000, width = 32;
    std::vector<dense_block> basis;
    for (unsigned kind = 0; kind < 5; ++kind) {
        dense_block block(place, rows, width);
        fill_randomly(place, kind, block);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t j = 0; j < width; ++j) {
                float& x = block.row(r)[j];
                if (kind == 1) x = 0;
                if (kind == 2) x = basis[0].row(r)[j % 3];                     // in the span already
                if (kind == 3) x = static_cast<float>(r % 7) + x * 0x1p-20f;   // almost equal to one column
                if (kind == 4 && j % 2 == 1) x = block.row(r)[j - 1] * 1e20f;  // pairs
            }
        orthonormalise(place, basis, 99 + kind, block);
        basis.push_back(std::move(block));
    }
    for (std::size_t b = 0; b < basis.size(); ++b) {
        const auto products = inner_products(place, basis, basis[b]);
        for (std::size_t i = 0; i < basis.size() * width; ++i)
            for (std::size_t j = 0; j < width; ++j)
                ASSERT_NEAR(products[i * width + j], i == b * width + j ? 1 : 0, 1e-6)
                    << b << ' ' << i << ' ' << j;
    }
}

}  // namespace
}  // namespace quern::truncated_svd_test
