// SPDX-License-Identifier: Apache-2.0
// Compares the bounds that exclude pairs with exact scores: rows of adversarial weights, and tiles of any size. A bound
// that is too low loses neighbours, and so does a slack that is too small.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cmath>
#include <limits>

#include "../../on_each_place.hpp"
#include "ops/word_similarity/bounds/bound_rows.hpp"
#include "ops/word_similarity/exact/terms.hpp"
#include "word_matrices.hpp"

namespace quern::bounds_test {
namespace {

using namespace word_similarity_detail;

/// The relative size of a matrix's weights.
enum class weights {
    usual,
    of_all_sizes,
    rows_of_all_sizes,
    near_one_unit,
    least,
    greatest,
    equal,
    one_heavy
};

float weight_of(weights kind, double row, double u) {
    switch (kind) {
        case weights::of_all_sizes:
            return std::ldexp(1.F + static_cast<float>(u), static_cast<int>(u * 271) - 145);
        case weights::rows_of_all_sizes:
            return std::ldexp(1.F + static_cast<float>(u), static_cast<int>(row * 200) - 110);
        case weights::near_one_unit:  // next to one_heavy's row, some 2^-22: products round to 1 or 2 units
            return std::ldexp(0.7F + static_cast<float>(u), -22);
        case weights::least:
            return std::numeric_limits<float>::denorm_min() * (1 + std::floor(static_cast<float>(3 * u)));
        case weights::greatest:
            return std::numeric_limits<float>::max() * (1 - static_cast<float>(u) / 8);
        case weights::equal:
            return 1.F / 3;
        default:
            return static_cast<float>(std::exp(3 * u - 1.5));
    }
}

context_matrix made(std::uint32_t words, std::uint32_t columns, weights kind, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<std::vector<std::pair<std::uint32_t, float>>> rows(words);
    for (std::uint32_t w = 0; w < words; ++w) {
        const double row = uniform(random), density = std::pow(uniform(random), 3);
        const bool copied = w > 2 && uniform(random) < 0.2;
        if (copied) rows[w] = rows[random() % w];
        for (std::uint32_t c = 0; !copied && c < columns; ++c)
            if (uniform(random) < density) rows[w].emplace_back(c, weight_of(kind, row, uniform(random)));
    }
    if (kind == weights::near_one_unit || kind == weights::one_heavy)
        for (auto& [column, weight] : rows[words / 2]) weight = kind == weights::one_heavy ? 1e30F : 1e3F;
    return matrix_of(std::move(rows), columns);
}

constexpr weights all_kinds[] = {weights::usual,         weights::of_all_sizes, weights::rows_of_all_sizes,
                                 weights::near_one_unit, weights::least,        weights::greatest,
                                 weights::equal,         weights::one_heavy};
constexpr similarity_measure all_measures[] = {similarity_measure::lin, similarity_measure::cosine};

/// For every pair, the exact score is below its bound, and above the bound minus either row's slack.
void expect_bounds_hold(const context_matrix& matrix, similarity_measure measure) {
    cpu_place place(context::cpu(1));
    owned_rows owned = restrict_columns(place, matrix.view(), all_columns);
    fix_sums(place, owned.rows);
    const fixed_rows& exact = owned.rows;
    const bound_rows rows(place, exact, measure);
    with_terms(place, exact, measure, [&](const auto& terms) {
        for (std::uint32_t a = 0; a < rows.size(); ++a) {
            for (std::uint32_t b = 0; b < a; ++b) {
                std::uint64_t sum = 0;
                for (std::uint64_t i = rows.begin(a), j = rows.begin(b);
                     i < rows.end(a) && j < rows.end(b);) {
                    const std::uint32_t in_a = rows.columns()[i], in_b = rows.columns()[j];
                    const std::uint64_t x = rows.values()[i], y = rows.values()[j];
                    ASSERT_TRUE(x > 0 && y > 0 && (rows.products() || (x < 0x8000 && y < 0x8000)));
                    if (in_a == in_b) sum += rows.products() ? x * y : x + y;
                    i += in_a <= in_b;
                    j += in_b <= in_a;
                }
                const std::uint64_t shared = merge_rows(exact, terms, rows.word(a), rows.word(b));
                ASSERT_EQ(sum > 0, shared > 0);
                ASSERT_LT(sum, std::uint64_t{1} << 31);
                if (sum == 0) continue;
                const double score = terms.score(shared, rows.word(a), rows.word(b));
                const double bound =
                    static_cast<double>(sum) / (double{rows.denominator(a)} + double{rows.denominator(b)});
                ASSERT_GE(bound * (1 + 0x1p-20), score) << a << ' ' << b;
                for (const std::uint32_t row : {a, b})
                    ASSERT_LE(bound * (1 - 0x1p-20) - double{rows.slack(row)}, score) << a << ' ' << b;
            }
        }
    });
}

TEST(bound_rows, hold_for_hostile_weights) {
    for (const weights kind : all_kinds)
        for (const similarity_measure measure : all_measures) {
            SCOPED_TRACE(static_cast<int>(kind));
            SCOPED_TRACE(measure == similarity_measure::lin ? "lin" : "cosine");
            for (const std::uint32_t columns : {1U, 5U, 60U, 700U})
                expect_bounds_hold(made(90, columns, kind, columns), measure);
        }
}

RC_GTEST_PROP(bound_rows, hold_for_any_weights, ()) {
    const auto words = *rc::gen::inRange<std::uint32_t>(2, 30);
    const auto columns = *rc::gen::inRange<std::uint32_t>(1, 40);
    std::vector<std::vector<std::pair<std::uint32_t, float>>> rows(words);
    for (auto& row : rows) {
        const int exponent = *rc::gen::inRange(-149, 127);
        for (std::uint32_t c = 0; c < columns; ++c) {
            const int more = *rc::gen::inRange(-3, 40);
            if (more < 0) continue;
            const float mantissa = 1.F + std::ldexp(static_cast<float>(*rc::gen::inRange(0, 1 << 23)), -23);
            row.emplace_back(c, std::ldexp(mantissa, std::clamp(exponent + more / 8, -149, 127)));
        }
    }
    const context_matrix matrix = matrix_of(std::move(rows), columns);
    for (const similarity_measure measure : all_measures) expect_bounds_hold(matrix, measure);
    RC_ASSERT(!::testing::Test::HasFatalFailure());
}

/// Enough words for tiles, candidates and thresholds, few neighbours requested: the result of the plain method.
template <class Tested>
class hostile_weights_test : public on_place<Tested> {};
TYPED_TEST_SUITE(hostile_weights_test, tested_places, tested_place_names);

TYPED_TEST(hostile_weights_test, lose_no_neighbour) {
    for (const weights kind : all_kinds)
        for (const similarity_measure measure : all_measures) {
            // More than a tile of the CPU's where weights differ most; otherwise enough for bounds.
            const bool many = kind == weights::of_all_sizes && !tested_with().small_sizes;
            const std::uint32_t words = many ? 1300 : 300;
            const context_matrix matrix = made(words, 90, kind, 7);
            for (const std::uint32_t top : {1U, 6U, 30U}) {
                SCOPED_TRACE(static_cast<int>(kind));
                SCOPED_TRACE(measure == similarity_measure::lin ? "lin" : "cosine");
                SCOPED_TRACE(top);
                similarity_options options;
                options.measure = measure;
                options.top = top;
                const neighbour_lists found = similar_words(matrix.view(), options, TypeParam::ctx());
                options.method = similarity_method::compressed;
                const neighbour_lists expected = similar_words(matrix.view(), options, context::cpu());
                ASSERT_EQ(found.offsets, expected.offsets);
                ASSERT_EQ(found.words, expected.words);
                ASSERT_EQ(found.scores, expected.scores);
            }
        }
}

TEST(bound_tiles, hold_every_entry_once_whatever_their_size) {
    cpu_place place(context::cpu(2));
    const context_matrix matrix = text_like(1500, 300, 400, 3);
    owned_rows owned = restrict_columns(place, matrix.view(), all_columns);
    fix_sums(place, owned.rows);
    for (const similarity_measure measure : all_measures) {
        const bound_rows rows(place, owned.rows, measure);
        for (const std::uint64_t max :
             {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{20'000}, max_entries_of_a_tile}) {
            SCOPED_TRACE(max);
            std::size_t next = 0;
            for (const bound_tile& tile : cut_into_tiles(place, rows, owned.rows.column_count, max)) {
                ASSERT_EQ(tile.words.begin, next);
                next = tile.words.end;
                ASSERT_TRUE(tile.size() == 1 || rows.end(next - 1) - rows.begin(tile.words.begin) <= max);
                // Every entry of the tile's words is found in the column's postings or its dense vector.
                for (std::size_t position = tile.words.begin; position < next; ++position)
                    for (std::uint64_t i = rows.begin(position); i < rows.end(position); ++i) {
                        const std::uint32_t c = rows.columns()[i];
                        const auto word = static_cast<std::uint32_t>(position - tile.words.begin);
                        const packed_posting* const first = tile.postings() + tile.starts()[c];
                        const packed_posting* const last = tile.postings() + tile.starts()[c + 1];
                        if (last - first == tile.dense_length()) {
                            const auto* const dense = reinterpret_cast<const std::uint16_t*>(first);
                            ASSERT_EQ(dense[word] & 0x7fff, rows.values()[i] & 0x7fff);
                        } else {
                            ASSERT_EQ(std::count(first, last, word | std::uint32_t{rows.values()[i]} << 16),
                                      1);
                        }
                    }
            }
            EXPECT_EQ(next, rows.size());
        }
    }
}

}  // namespace
}  // namespace quern::bounds_test
