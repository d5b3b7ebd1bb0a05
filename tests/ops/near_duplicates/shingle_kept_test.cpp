// SPDX-License-Identifier: Apache-2.0
// The documents that near-kept removes by shingles, without a list of pairs, are those of a walk over all pairs.
#include "ops/near_duplicates/papers/words/shingle_kept.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"
#include "reference/near_kept_reference.hpp"
#include "reference/word_methods_reference.hpp"

namespace quern::shingle_kept_test {
namespace {

using near_duplicates_detail::near_kept_by_shingles;
using near_duplicates_detail::shingle_rule;
using reference::words;

struct lists {
    std::vector<std::uint32_t> all;
    std::vector<std::uint64_t> offsets{0};
    explicit lists(const std::vector<words>& documents) {
        for (const words& d : documents) {
            all.insert(all.end(), d.begin(), d.end());
            offsets.push_back(all.size());
        }
    }
    word_list list() const { return {all, offsets, {}}; }
};

/// Pages of a few templates with other words in some places, versions that follow each other, copies, and empty documents.
std::vector<words> made_documents(std::mt19937_64& random, std::size_t count, std::size_t length) {
    const auto fresh = [&] {
        words made(random() % (length + 1));
        for (auto& word : made) word = static_cast<std::uint32_t>(random() % 50);
        return made;
    };
    std::vector<words> documents;
    const std::vector<words> templates = {fresh(), fresh(), fresh()};
    words version = fresh();
    for (std::size_t i = 0; i < count; ++i) {
        words made = templates[random() % templates.size()];
        if (random() % 4 == 0) made = version;
        if (random() % 6 == 0) made = fresh();
        const std::size_t edits = random() % 4;
        for (std::size_t e = 0; e < edits && !made.empty(); ++e)
            made[random() % made.size()] = static_cast<std::uint32_t>(random() % 50);
        if (random() % 3 == 0) version = made;
        documents.push_back(made);
    }
    return documents;
}

std::vector<removed_duplicate> expected_of(const std::vector<words>& documents,
                                           const duplicate_options& options, const duplicate_scope& scope,
                                           const kept_order& order) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint64_t, std::uint64_t>> pairs;
    for (const duplicate_pair& p : reference::shingle_pairs(documents, options, scope))
        pairs[{p.a, p.b}] = {p.distance, p.of};
    return reference::near_kept(order, [&](std::uint32_t a, std::uint32_t b) {
        const auto at = pairs.find(std::minmax(a, b));
        return at == pairs.end() ? reference::pair_numbers() : reference::pair_numbers(at->second);
    });
}

TEST(shingle_kept, removes_what_a_walk_over_all_pairs_removes) {
    EXPECT_TRUE(rc::check("as the reference", [] {
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        const auto count = *rc::gen::element<std::uint32_t>(0, 1, 2, 31, 33, 64, 65, 150);
        const auto documents = made_documents(random, count, *rc::gen::element<std::size_t>(0, 3, 12, 60));
        duplicate_options options;
        options.shingle = *rc::gen::element(1U, 2U, 4U);
        options.similarity = {*rc::gen::element<std::uint64_t>(1, 5, 8, 10), 10};
        const duplicate_scope scope{*rc::gen::inRange<std::uint32_t>(0, count + 1),
                                    *rc::gen::arbitrary<bool>()};
        std::vector<std::uint32_t> numbers(count);
        std::iota(numbers.begin(), numbers.end(), 0U);
        std::shuffle(numbers.begin() + scope.first_new, numbers.end(), random);
        if (count > scope.first_new && random() % 2 == 0) numbers.pop_back();  // takes no part
        const kept_order order{numbers, scope.first_new};
        const auto expected = expected_of(documents, options, scope, order);
        const lists of(documents);
        // Few bits of a hash make different shingles look alike.
        const shingle_rule rule{options.shingle, random() % 2 == 0 ? ~std::uint64_t{0} : 31};
        for (const unsigned threads : {1U, 2U, 3U, 8U}) {
            duplicate_counts counts;
            const auto found = near_kept_by_shingles(of.list(), rule, options.similarity, scope, order,
                                                     context::cpu(threads), counts);
            RC_ASSERT(found.has_value());
            RC_ASSERT(*found == expected);
        }
    }));
}

TEST(shingle_kept, pages_of_a_template_cost_a_comparison_each) {
    constexpr std::uint32_t count = 5000;
    std::mt19937_64 random(1);
    words page(300);
    std::iota(page.begin(), page.end(), 0U);
    std::vector<words> documents(count, page);
    for (words& d : documents) d[random() % d.size()] = 1000 + static_cast<std::uint32_t>(random() % 100);
    const lists of(documents);
    std::vector<std::uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0U);
    duplicate_counts counts;
    const auto removed =
        near_kept_by_shingles(of.list(), {4}, {8, 10}, {}, {numbers, 0}, context::cpu(2), counts);
    ASSERT_TRUE(removed.has_value());
    EXPECT_EQ(removed->size(), count - 1U);
    EXPECT_LT(counts.candidates, count);  // all pairs are 12 million
}

TEST(shingle_kept, an_index_that_does_not_fit_is_not_made) {
    std::mt19937_64 random(2);
    std::vector<words> documents;
    for (int i = 0; i < 3000; ++i) {
        words made(100);
        for (auto& word : made) word = static_cast<std::uint32_t>(random() % 12);
        documents.push_back(made);
    }
    const lists of(documents);
    std::vector<std::uint32_t> numbers(documents.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
    context ctx = context::cpu(2);
    ctx.memory_bytes = 1 << 20;
    duplicate_counts counts;
    EXPECT_FALSE(near_kept_by_shingles(of.list(), {4}, {3, 10}, {}, {numbers, 0}, ctx, counts).has_value());
}

TEST(shingle_kept, documents_that_stay_come_first) {
    const lists of({{1, 2}, {1, 2}, {1, 2}});
    const auto removed = [&](const std::vector<std::uint32_t>& numbers, std::size_t staying) {
        duplicate_counts counts;
        return near_kept_by_shingles(of.list(), {4}, {8, 10}, {}, {numbers, staying}, context::cpu(1),
                                     counts);
    };
    EXPECT_THAT(*removed({0, 1, 2}, 2), ::testing::ElementsAre(removed_duplicate{2, 0, 0, 1}));
    EXPECT_THROW(removed({1, 0}, 1), usage_error);
    EXPECT_THROW(removed({0, 0}, 0), usage_error);
}

}  // namespace
}  // namespace quern::shingle_kept_test
