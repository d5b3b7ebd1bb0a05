// SPDX-License-Identifier: Apache-2.0
// If links are enough: the groups are those of all pairs, for any threads, memory and place, and copies of one text do not
// cost the square of their number.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>
#include <string>

#include "on_each_place.hpp"
#include "ops/near_duplicates/links/link_search.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::links_test {
namespace {

using namespace near_duplicates_detail;

struct corpus {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};

    void add(const std::string& text) {
        bytes += text;
        offsets.push_back(bytes.size());
    }
    text_list list() const { return {bytes, offsets}; }
};

std::string random_text(std::mt19937_64& random, std::size_t length, unsigned letters) {
    std::string text(length, 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % letters);
    return text;
}

std::string edited(std::string text, std::mt19937_64& random, std::size_t edits) {
    for (; edits > 0 && !text.empty(); --edits) {
        const std::size_t at = random() % text.size();
        switch (random() % 3) {
            case 0:
                text[at] = 'z';
                break;
            case 1:
                text.erase(at, 1);
                break;
            default:
                text.insert(at, 1, 'y');
        }
    }
    return text;
}

/// The expected links: each text of a group with the first one.
std::vector<duplicate_pair> links_of(std::span<const duplicate_pair> pairs, std::size_t texts) {
    std::vector<duplicate_pair> links;
    for (const auto& group : duplicate_groups(pairs, std::vector<std::uint64_t>(texts), keep_policy::first))
        for (const std::uint32_t text : std::span(group.members).subspan(1))
            links.push_back({group.members.front(), text, 0, 0});
    std::ranges::sort(links, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
    return links;
}

template <class Tested>
class links_test : public on_place<Tested> {};
TYPED_TEST_SUITE(links_test, tested_places, tested_place_names);

/// Families of copies of copies, with equal texts among them and pivots that are near each other.
TYPED_TEST(links_test, connect_what_all_pairs_connect) {
    EXPECT_TRUE(rc::check("groups of links are groups of pairs", [] {
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        const auto count = *rc::gen::inRange<std::uint32_t>(0, 220);
        const auto length = *rc::gen::inRange<std::size_t>(1, 400);
        const auto families = *rc::gen::inRange<std::uint64_t>(1, 6);
        const auto max_edits = *rc::gen::inRange<std::uint64_t>(1, 40);
        corpus texts;
        std::vector<std::string> all;
        const std::string base = random_text(random, length, 5);
        for (std::uint32_t i = 0; i < count; ++i) {
            std::string text = i < families ? edited(base, random, i * length / 8)
                                            : all[random() % (random() % 2 == 0 ? families : all.size())];
            if (random() % 4 != 0) text = edited(text, random, random() % max_edits);
            all.push_back(text);
            texts.add(text);
        }
        duplicate_options options;
        options.unit = *rc::gen::arbitrary<bool>() ? edit_unit::byte : edit_unit::character;
        options.threshold = {*rc::gen::element<std::uint64_t>(1, 5, 15), 100};
        duplicate_scope scope{*rc::gen::inRange<std::uint32_t>(0, count + 1), *rc::gen::arbitrary<bool>()};
        const auto pairs = near_duplicates(texts.list(), options, scope, context::cpu(1)).pairs;
        scope.links_only = true;
        for (const unsigned threads : {1, 4}) {
            context ctx = TypeParam::ctx();
            ctx.threads = threads;
            if (threads == 4) {
                ctx.memory_bytes = 400 << 10;
                ctx.gpu_memory_bytes = (400 << 10) + (std::uint64_t{9} << 20);
            }
            RC_ASSERT(near_duplicates(texts.list(), options, scope, ctx).pairs == links_of(pairs, count));
        }
    }));
}

TYPED_TEST(links_test, of_copies_cost_as_many_distances_as_copies) {
    constexpr std::uint32_t count = 400;
    std::mt19937_64 random(7);
    const std::string base = random_text(random, 2000, 26);
    corpus texts;
    for (std::uint32_t i = 0; i < count; ++i) texts.add(edited(base, random, 5));
    context ctx = TypeParam::ctx();
    ctx.threads = 1;
    for (const duplicate_scope scope :
         {duplicate_scope{0, true, true}, {300, true, true}, {200, false, true}}) {
        const duplicate_result found = near_duplicates(texts.list(), {}, scope, ctx);
        EXPECT_EQ(found.pairs.size(), count - 1U);
        EXPECT_LE(found.counts.verified, 2 * count);
    }
}

/// Copies of two texts that are a little too far apart.
TEST(links, rule_families_out_by_two_distances) {
    constexpr std::uint32_t count = 300;
    std::mt19937_64 random(8);
    const std::string base = random_text(random, 2000, 4);
    // In one place: so similar in their q-grams that only their distance distinguishes them. 5 % of both lengths are 200
    // edits.
    const std::string other = std::string(base).replace(700, 230, std::string(230, 'z'));
    corpus texts;
    for (std::uint32_t i = 0; i < count; ++i) texts.add(edited(i % 2 == 0 ? base : other, random, 3));
    duplicate_scope scope{0, true, true};
    const duplicate_result found = near_duplicates(texts.list(), {}, scope, context::cpu(1));
    EXPECT_EQ(found.pairs.size(), count - 2U);
    EXPECT_LE(found.counts.verified, 4 * count);
}

/// The code path for candidates from a device, on the CPU: three families, the last of which holds no pair.
TEST(links, come_from_batches_by_waves) {
    constexpr std::uint32_t count = 90;
    std::mt19937_64 random(9);
    const std::string one = random_text(random, 300, 26), two = random_text(random, 300, 26);
    corpus texts;
    for (std::uint32_t i = 0; i < count; ++i)
        texts.add(i % 3 == 0   ? edited(one, random, 4)
                  : i % 3 == 1 ? edited(two, random, 4)
                               : random_text(random, 300, 26));
    cpu_place place(context::cpu(2));
    const text_sketches none;
    const sketch_list sketches(place, texts.list(), none, edit_unit::byte, 0);
    const unit_texts<std::uint8_t> units(place, texts.list(), sketches);
    text_links links(place, count);
    std::vector<candidate> candidates;
    for (std::uint32_t a = 0; a < count; ++a)
        for (std::uint32_t b = a + 1; b < count; ++b)
            if (a % 3 == b % 3) candidates.push_back({a, b});
    duplicate_counts counts;
    link_candidates(place, place, units, {5, 100}, candidates, links, counts);
    for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(links.first_of(i), i % 3 == 2 ? i : i % 3);
    EXPECT_EQ(links.links().size(), 58U);
    EXPECT_GE(counts.verified, 30U * 29 / 2 + 58);  // the third family, and the pairs that connect the others
    EXPECT_LE(counts.verified, 30U * 29 / 2 + 300);
}

}  // namespace
}  // namespace quern::links_test
