// SPDX-License-Identifier: Apache-2.0
#include "ops/search/device_collection.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quern::search_detail::device_rankings_test {
namespace {

using ranking = std::vector<scored_document>;

TEST(append_rankings, ends_where_hits_do) {
    const std::vector<std::int64_t> scores = {5, -3, no_score, 7, 7, 6, no_score, no_score, no_score};
    const std::vector<std::uint32_t> ids = {1, 2, 9, 0, 4, 3, 9, 9, 9};
    ranking first = {{0, 9}}, second, third;
    const std::vector<ranking*> all = {&first, &second, &third};
    append_rankings(scores, ids, 3, 4'294'967'290, all, context::cpu(2));
    EXPECT_EQ(first, (ranking{{0, 9}, {4'294'967'291, 5}, {4'294'967'292, -3}}));
    EXPECT_EQ(second, (ranking{{4'294'967'290, 7}, {4'294'967'294, 7}, {4'294'967'293, 6}}));
    EXPECT_TRUE(third.empty());
}

TEST(append_rankings, leaves_out_what_is_not_wanted) {
    const std::size_t count = 3'000, row = 40;
    std::vector<std::int64_t> scores;
    std::vector<std::uint32_t> ids;
    for (std::size_t i = 0; i < count * row; ++i) {
        scores.push_back(i % row < i / row % row ? static_cast<std::int64_t>(i) : no_score);
        ids.push_back(static_cast<std::uint32_t>(i));
    }
    std::vector<ranking> rankings(count);
    std::vector<ranking*> wanted;
    for (std::size_t q = 0; q < count; ++q) wanted.push_back(q % 3 == 0 ? nullptr : &rankings[q]);
    append_rankings(scores, ids, row, 0, wanted, context::cpu(3));
    for (std::size_t q = 0; q < count; ++q) {
        ASSERT_EQ(rankings[q].size(), q % 3 == 0 ? 0 : q % row);
        for (std::size_t i = 0; i < rankings[q].size(); ++i) ASSERT_EQ(rankings[q][i].document, q * row + i);
    }
}

}  // namespace
}  // namespace quern::search_detail::device_rankings_test
