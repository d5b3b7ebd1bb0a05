// SPDX-License-Identifier: Apache-2.0
// Rule near-kept: what is removed equals a walk over all pairs, from pairs and from texts, in any order of preference, with
// documents that stay, for any threads and memory; and n copies of a text cost n distances.
#include "quern/ops/near_kept.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "reference/edit_distance_reference.hpp"
#include "reference/near_kept_reference.hpp"

namespace quern::near_kept_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct corpus {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};

    corpus() = default;
    explicit corpus(std::span<const std::string> texts) {
        for (const std::string& text : texts) {
            bytes += text;
            offsets.push_back(bytes.size());
        }
    }
    text_list list() const { return {bytes, offsets}; }
};

std::string edited(std::string text, std::mt19937_64& random, std::size_t edits) {
    for (; edits > 0; --edits) {
        const std::size_t at = random() % (text.size() + 1);
        switch (random() % 3) {
            case 0:
                if (at < text.size()) text[at] = static_cast<char>('a' + random() % 26);
                break;
            case 1:
                if (at < text.size()) text.erase(at, 1);
                break;
            default:
                text.insert(at, 1, static_cast<char>('a' + random() % 26));
        }
    }
    return text;
}

/// Families of copies of copies: chains, equal texts, empty ones.
std::vector<std::string> made_texts(std::mt19937_64& random, std::uint32_t count, std::size_t length,
                                    std::uint64_t families, std::uint64_t max_edits) {
    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < count; ++i) {
        std::string text(i < families ? length : 0, 'a');
        for (char& c : text) c = static_cast<char>('a' + random() % 4);
        if (i >= families && random() % 8 != 0) text = all[random() % all.size()];
        if (random() % 3 != 0) text = edited(text, random, random() % max_edits);
        all.push_back(text);
    }
    return all;
}

reference::pair_numbers pair_of(const std::vector<std::string>& texts, const decimal& threshold,
                                std::uint32_t a, std::uint32_t b) {
    const std::uint64_t of = texts[a].size() + texts[b].size();
    const std::uint64_t distance =
        reference::edit_distance(std::vector<char>(texts[a].begin(), texts[a].end()),
                                 std::vector<char>(texts[b].begin(), texts[b].end()));
    if (of != 0 && distance * threshold.denominator >= threshold.numerator * of) return {};
    return std::pair(distance, of);
}

template <class Tested>
class near_kept_test : public on_place<Tested> {};
TYPED_TEST_SUITE(near_kept_test, tested_places, tested_place_names);

TYPED_TEST(near_kept_test, removes_what_a_walk_over_all_pairs_removes) {
    EXPECT_TRUE(rc::check("pairs and texts agree with the reference", [] {
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        const auto count = *rc::gen::inRange<std::uint32_t>(1, 60);
        const std::vector<std::string> made =
            made_texts(random, count, *rc::gen::inRange<std::size_t>(0, 120),
                       *rc::gen::inRange<std::uint64_t>(1, 5), *rc::gen::inRange<std::uint64_t>(1, 14));
        const corpus texts(made);
        duplicate_options options;
        options.unit = *rc::gen::arbitrary<bool>() ? edit_unit::byte : edit_unit::character;
        options.threshold = {*rc::gen::element<std::uint64_t>(2, 5, 20), 100};
        // Some documents are earlier, of which a few take no part; the others come in any order.
        duplicate_scope scope{*rc::gen::inRange<std::uint32_t>(0, count), *rc::gen::arbitrary<bool>()};
        const bool all_stay = !scope.within_new;
        std::vector<std::uint32_t> order;
        for (std::uint32_t d = 0; d < scope.first_new; ++d)
            if (all_stay || random() % 4 != 0) order.push_back(d);
        const std::size_t staying = order.size();
        for (std::uint32_t d = scope.first_new; d < count; ++d) order.push_back(d);
        std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(staying), order.end(), random);
        const kept_order preferred{order, staying};

        const auto expected = reference::near_kept(preferred, [&](std::uint32_t a, std::uint32_t b) {
            const bool is_wanted = scope.within_new || (a < scope.first_new && b >= scope.first_new);
            return is_wanted ? pair_of(made, options.threshold, a, b) : reference::pair_numbers();
        });
        const auto pairs = near_duplicates(texts.list(), options, scope, context::cpu(1)).pairs;
        RC_ASSERT(near_kept(pairs, count, preferred, context::cpu(1)) == expected);
        scope.links_only = true;
        const auto links = near_duplicates(texts.list(), options, scope, TypeParam::ctx()).pairs;
        for (const unsigned threads : {1, 3}) {
            context ctx = context::cpu(threads);
            if (threads == 3) ctx.memory_bytes = 400 << 10;
            RC_ASSERT(near_kept(texts.list(), options, links, preferred, {}, ctx) == expected);
        }
    }));
}

/// Words: distance 0 is an equal set of shingles, not an equal text, and links omit most pairs.
TEST(near_kept, links_of_words_suffice) {
    EXPECT_TRUE(rc::check("links remove what all pairs remove", [] {
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        const auto count = *rc::gen::inRange<std::uint32_t>(1, 60);
        std::vector<std::vector<std::uint32_t>> made;
        std::vector<std::uint32_t> words;
        std::vector<std::uint64_t> offsets{0};
        for (std::uint32_t i = 0; i < count; ++i) {
            std::vector<std::uint32_t> text(random() % 12, 0);
            const auto next_word = [&] { return static_cast<std::uint32_t>(random() % 9); };
            for (auto& word : text) word = next_word();
            if (i > 0 && random() % 5 != 0) text = made[random() % i];
            if (!text.empty() && random() % 2 == 0) text[random() % text.size()] = next_word();
            made.push_back(text);
            words.insert(words.end(), text.begin(), text.end());
            offsets.push_back(words.size());
        }
        duplicate_options options;
        options.method = *rc::gen::element(duplicate_method::shingle, duplicate_method::simhash);
        options.shingle = 1;
        options.similarity = {6, 10};
        options.hamming = 12;
        duplicate_scope scope{*rc::gen::inRange<std::uint32_t>(0, count), *rc::gen::arbitrary<bool>()};
        const word_list list{words, offsets, {}};
        const auto pairs = near_duplicates(list, 9, options, scope, context::cpu(1)).pairs;
        std::vector<std::uint32_t> order(count);
        std::iota(order.begin(), order.end(), 0u);
        std::shuffle(order.begin() + scope.first_new, order.end(), random);
        const kept_order preferred{order, scope.first_new};
        const auto expected = reference::near_kept(preferred, [&](std::uint32_t a, std::uint32_t b) {
            const auto [first, second] = std::minmax(a, b);
            const auto at =
                std::ranges::lower_bound(pairs, std::pair(first, second), {},
                                         [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
            const bool is_pair = at != pairs.end() && at->a == first && at->b == second;
            return is_pair ? reference::pair_numbers(std::pair(at->distance, at->of))
                           : reference::pair_numbers();
        });
        RC_ASSERT(near_kept(pairs, count, preferred, context::cpu(1)) == expected);
        scope.links_only = true;
        const auto links = near_duplicates(list, 9, options, scope, context::cpu(2)).pairs;
        RC_ASSERT(near_kept(links, count, preferred, context::cpu(1)) == expected);
    }));
}

/// a near b, b near c, a not near c.
TEST(near_kept, a_chain_removes_only_what_is_near_a_document_that_stays) {
    const std::string plain(300, 'x');
    const std::vector<std::string> made = {plain, std::string(plain).replace(0, 20, std::string(20, 'y')),
                                           std::string(plain).replace(0, 40, std::string(40, 'y')),
                                           std::string(plain).replace(0, 40, std::string(40, 'y'))};
    const corpus texts(made);
    const auto pairs = near_duplicates(texts.list(), {}, {}, context::cpu(1)).pairs;
    const auto removed = [&](const std::vector<std::uint32_t>& order) {
        const auto found = near_kept(pairs, 4, {order, 0}, context::cpu(1));
        const std::vector<duplicate_pair> links = {{0, 1}, {0, 2}, {0, 3}};
        EXPECT_EQ(near_kept(texts.list(), {}, links, {order, 0}, {}, context::cpu(1)), found);
        return found;
    };
    EXPECT_THAT(removed({0, 1, 2, 3}),
                ElementsAre(removed_duplicate{1, 0, 20, 600}, removed_duplicate{3, 2, 0, 600}));
    EXPECT_THAT(removed({3, 2, 1, 0}),
                ElementsAre(removed_duplicate{1, 3, 20, 600}, removed_duplicate{2, 3, 0, 600}));
    EXPECT_THAT(removed({1, 0, 2, 3}),
                ElementsAre(removed_duplicate{0, 1, 20, 600}, removed_duplicate{2, 1, 20, 600},
                            removed_duplicate{3, 1, 20, 600}));
}

TEST(near_kept, copies_of_a_text_cost_little) {
    constexpr std::uint32_t count = 20000;
    std::mt19937_64 random(3);
    std::string base;
    for (int i = 0; i < 300; ++i) base += static_cast<char>('a' + random() % 26);
    std::vector<std::string> made;
    for (std::uint32_t i = 0; i < count; ++i) made.push_back(i == 0 ? base : edited(base, random, 4));
    const corpus texts(made);
    std::vector<duplicate_pair> links;
    for (std::uint32_t i = 1; i < count; ++i) links.push_back({0, i, 0, 0});
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    // All pairs would be 200 million.
    EXPECT_EQ(near_kept(texts.list(), {}, links, {order, 0}, {}, context::cpu(2)).size(), count - 1U);
}

/// A group of n documents has n pairs at once.
TEST(near_kept, a_group_counts_against_the_budget) {
    constexpr std::uint32_t count = 20000;
    const corpus texts(std::vector<std::string>(count, "abcdefgh"));
    std::vector<duplicate_pair> links;
    for (std::uint32_t i = 1; i < count; ++i) links.push_back({0, i, 0, 16});
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    const auto removed_within = [&](std::uint64_t bytes_a_document, bool from_pairs) {
        context ctx = context::cpu(1);
        ctx.memory_bytes = bytes_a_document * count;
        const auto removed = from_pairs ? near_kept(links, count, {order, 0}, ctx)
                                        : near_kept(texts.list(), {}, links, {order, 0}, {}, ctx);
        return removed.size();
    };
    for (const bool from_pairs : {false, true}) {
        EXPECT_EQ(removed_within(250, from_pairs), count - 1U);
        EXPECT_THROW(removed_within(from_pairs ? 50 : 150, from_pairs), out_of_memory);
        EXPECT_THROW(removed_within(5, from_pairs), out_of_memory);
    }
}

TEST(near_kept, an_order_is_checked) {
    const std::vector<duplicate_pair> pairs = {{0, 1, 1, 100}};
    const auto removed = [&](const std::vector<std::uint32_t>& order, std::size_t staying) {
        return near_kept(pairs, 3, {order, staying}, context::cpu(1));
    };
    EXPECT_THAT(removed({1, 0}, 0), ElementsAre(removed_duplicate{0, 1, 1, 100}));
    EXPECT_THAT(removed({0, 1}, 2), IsEmpty());
    EXPECT_THAT(removed({1, 0}, 1), IsEmpty());  // a document that stays removes only later ones
    EXPECT_THAT(removed({0, 1}, 1), ElementsAre(removed_duplicate{1, 0, 1, 100}));
    EXPECT_THAT(removed({1}, 0), IsEmpty());
    EXPECT_THROW(removed({3}, 0), usage_error);
    EXPECT_THROW(removed({1, 1}, 0), usage_error);
    EXPECT_THROW(removed({1, 0}, 2), usage_error);
    EXPECT_THROW(removed({0}, 2), usage_error);
    EXPECT_THROW(near_kept(pairs, 1, {}, context::cpu(1)), usage_error);
}

}  // namespace
}  // namespace quern::near_kept_test
