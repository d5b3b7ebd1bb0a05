// SPDX-License-Identifier: Apache-2.0
// The lists of all shares, merged, against those of one search by another method: for any number of shares and threads, matrices
// of several tiles, equal scores, and words without bounds.
#include "ops/word_similarity/bounds/shared_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/word_similarity/exact/best_words.hpp"
#include "quern/base/error.hpp"
#include "word_matrices.hpp"

namespace quern::shared_search_test {
namespace {

using namespace word_similarity_detail;
using ::testing::Each;

/// What shared_rows views.
struct kept_rows_of_search {
    explicit kept_rows_of_search(const shared_rows& from)
        : rows(from),
          offsets(copy(from.offsets)),
          sums(copy(from.sums)),
          squares(copy(from.squares)),
          ends(copy(from.ends)),
          columns(copy(from.columns)),
          words(copy(from.bounds.words)),
          weights(copy(from.weights)),
          denominators(copy(from.bounds.denominators)),
          slacks(copy(from.bounds.slacks)),
          least(copy(from.least)),
          values(copy(from.bounds.values)),
          parts(copy(from.parts)) {
        rows.offsets = offsets;
        rows.sums = sums;
        rows.squares = squares;
        rows.ends = ends;
        rows.columns = columns;
        rows.weights = weights;
        rows.least = least;
        rows.parts = parts;
        rows.bounds = {from.bounds.products, offsets, words, denominators, slacks, columns, values};
    }
    template <class Value>
    static std::vector<Value> copy(std::span<const Value> values) {
        return {values.begin(), values.end()};
    }
    shared_rows rows;
    std::vector<std::uint64_t> offsets, sums, squares, ends;
    std::vector<std::uint32_t> columns, words;
    std::vector<float> weights, denominators, slacks, least;
    std::vector<std::uint16_t> values;
    std::vector<tile_part> parts;
};

struct found_by_shares {
    neighbour_lists merged;
    std::vector<std::size_t> sizes;  ///< of the lists of each share
};

found_by_shares found_by(std::uint64_t shares, const context_matrix& matrix,
                         const similarity_options& options, unsigned threads = 2) {
    std::vector<kept_rows_of_search> kept;
    std::vector<neighbour_lists> lists;
    lists.push_back(begin_shared_search(matrix.view(), options, shares, context::cpu(threads),
                                        [&](const shared_rows& rows) { kept.emplace_back(rows); }));
    found_by_shares found;
    for (std::uint64_t s = 0; s < shares; ++s) {
        lists.push_back(find_share(kept.front().rows, s, shares, options, context::cpu(threads)));
        found.sizes.push_back(lists.back().words.size());
    }
    found.merged.offsets.push_back(0);
    for (std::uint32_t w = 0; w < matrix.words; ++w) {
        std::vector<scored_word> all;
        for (const neighbour_lists& each : lists)
            for (std::uint64_t i = each.offsets[w]; i < each.offsets[w + 1]; ++i)
                all.push_back({each.scores[i], each.words[i]});
        std::ranges::sort(all, better);
        if (all.size() > options.top) all.resize(options.top);
        for (const scored_word& one : all) {
            found.merged.words.push_back(one.word);
            found.merged.scores.push_back(one.score);
        }
        found.merged.offsets.push_back(found.merged.words.size());
    }
    return found;
}

void expect_same(const neighbour_lists& a, const neighbour_lists& b) {
    EXPECT_EQ(a.offsets, b.offsets);
    EXPECT_EQ(a.words, b.words);
    EXPECT_EQ(a.scores, b.scores);
}

void check(const context_matrix& matrix, std::uint32_t top, std::uint32_t columns = all_columns) {
    for (const similarity_measure measure : {similarity_measure::lin, similarity_measure::cosine}) {
        similarity_options options;
        options.measure = measure;
        options.top = top;
        options.columns = columns;
        options.method = similarity_method::compressed;
        const neighbour_lists expected = similar_words(matrix.view(), options, context::cpu(2));
        options.method = similarity_method::automatic;
        for (const std::uint64_t shares : {1u, 2u, 3u, 5u, 16u})
            expect_same(found_by(shares, matrix, options, 1 + static_cast<unsigned>(shares % 3)).merged,
                        expected);
    }
}

TEST(shared_search, finds_what_one_search_finds) {
    check(text_like(3'300, 900, 200, 5), 7);
    check(text_like(3'300, 900, 200, 6), 3, 150);
    check(full_of_ties(2'600, 40, 7), 4);
}

TEST(shared_search, finds_it_without_bounds) {
    for (const named_matrix& each : hostile_matrices()) {
        SCOPED_TRACE(each.name);
        check(each.matrix, 20);
    }
    similarity_options options;
    options.top = 5;
    const context_matrix matrix = text_like(500, 200, 60, 9);
    for (const similarity_measure measure : {similarity_measure::jaccard, similarity_measure::skew}) {
        options.measure = measure;
        const neighbour_lists expected = similar_words(matrix.view(), options, context::cpu(1));
        for (const std::uint64_t shares : {1u, 3u, 5u})
            expect_same(found_by(shares, matrix, options).merged, expected);
    }
}

TEST(shared_search, finds_it_in_hostile_matrices_with_few_neighbours) {
    for (const named_matrix& each : hostile_matrices()) {
        SCOPED_TRACE(each.name);
        if (each.matrix.words >= 16) check(each.matrix, 1);
    }
}

TEST(shared_search, gives_every_share_work) {
    similarity_options options;
    options.top = 5;
    const auto sizes = found_by(5, text_like(6'000, 1'500, 200, 8), options).sizes;
    EXPECT_THAT(sizes, Each(::testing::Gt(0u)));
}

TEST(shared_search, does_not_keep_what_the_first_search_excludes) {
    similarity_options options;
    options.top = 5;
    const context_matrix matrix = text_like(6'000, 1'500, 200, 8);
    std::size_t all = 0;
    for (const std::size_t size : found_by(16, matrix, options).sizes) all += size;
    EXPECT_LT(all, std::size_t{4} * options.top * matrix.words);
}

}  // namespace
}  // namespace quern::shared_search_test
