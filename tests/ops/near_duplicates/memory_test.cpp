// SPDX-License-Identifier: Apache-2.0
// The same pairs, and the same groups, with any memory: tiles of sketches, texts decoded on each read, and links if there
// are too many pairs.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>
#include <string>

#include "on_each_place.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/text_sketches.hpp"

namespace quern::memory_test {
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

std::vector<std::vector<std::uint32_t>> members(std::span<const duplicate_pair> pairs, std::size_t texts) {
    std::vector<std::vector<std::uint32_t>> all;
    for (const auto& group : duplicate_groups(pairs, std::vector<std::uint64_t>(texts), keep_policy::first))
        all.push_back(group.members);
    return all;
}

bool rises(std::span<const duplicate_pair> pairs) {
    return std::ranges::adjacent_find(pairs, [](const duplicate_pair& x, const duplicate_pair& y) {
               return std::pair(x.a, x.b) >= std::pair(y.a, y.b);
           }) == pairs.end();
}

TEST(links, connect_what_pairs_connect) {
    EXPECT_TRUE(rc::check("groups of links are groups of pairs", [] {
        cpu_place place(context::cpu(2));
        const auto size = *rc::gen::inRange<std::uint32_t>(1, 40);
        const auto kinds = *rc::gen::inRange<std::uint32_t>(1, size + 1);
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        std::vector<std::uint32_t> leader(size), first(kinds, size);
        for (std::uint32_t d = 0; d < size; ++d) {
            const auto kind = static_cast<std::uint32_t>(random() % kinds);
            first[kind] = std::min(first[kind], d);
            leader[d] = first[kind];
        }
        const document_classes classes = classes_of(leader);
        std::vector<class_pair> joined;
        for (std::uint32_t a = 0; a < classes.size(); ++a)
            for (std::uint32_t b = a + 1; b < classes.size(); ++b)
                if (random() % classes.size() == 0) joined.push_back({a, b, 1 + random() % 9, 100});
        std::vector<std::uint64_t> of(classes.size());
        for (std::uint64_t& length : of) length = random() % 100;
        requested_pairs requested =
            requested_by({*rc::gen::inRange<std::uint32_t>(0, size + 1), *rc::gen::arbitrary<bool>()}, size);
        if (*rc::gen::arbitrary<bool>()) {  // any documents, as for a store
            for (std::uint32_t d = 0; d < size; ++d) requested.wanted[d] = random() % 3 == 0;
            requested.earlier_end = size;
        }
        duplicate_counts of_pairs, of_links;
        const auto pairs = document_pairs(place, classes, of, joined, requested, of_pairs);
        requested.links_only = true;
        const auto links = document_pairs(place, classes, of, joined, requested, of_links);

        RC_ASSERT(of_pairs.pairs == pairs.size());
        RC_ASSERT(of_links.pairs == pairs.size());
        RC_ASSERT(rises(pairs) && rises(links));
        for (const duplicate_pair& link : links) RC_ASSERT(std::ranges::count(pairs, link) == 1);
        RC_ASSERT(members(links, size) == members(pairs, size));
        RC_ASSERT(links.size() <= size + 3 * joined.size());
        const auto is_first = [&](std::uint32_t d) { return classes.first(classes.class_of[d]) == d; };
        for (const duplicate_pair& pair : pairs)
            if (is_first(pair.a) && is_first(pair.b)) RC_ASSERT(std::ranges::count(links, pair) == 1);
    }));
}

TEST(links, are_enough_for_many_equal_texts) {
    constexpr std::uint32_t count = 200'000;
    corpus texts;
    for (std::uint32_t i = 0; i < count; ++i)
        texts.add(i % 2 == 0 ? "" : "the same page, over and over again");
    context ctx = context::cpu(2);
    ctx.memory_bytes = 64 << 20;
    duplicate_scope scope{0, true, true};
    const duplicate_result found = near_duplicates(texts.list(), {}, scope, ctx);
    EXPECT_EQ(found.pairs.size(), count - 2U);
    EXPECT_EQ(members(found.pairs, count).size(), 2U);
    scope.links_only = false;
    EXPECT_THROW(near_duplicates(texts.list(), {}, scope, ctx), out_of_memory);
}

/// 60,000 different texts, 300 of each length.
const corpus& short_texts() {
    static const corpus made = [] {
        std::mt19937_64 random(8);
        corpus texts;
        for (std::size_t length = 20; length < 220; ++length) {
            for (std::size_t i = 0; i < 300; ++i) {
                std::string text(length, ' ');
                for (char& c : text) c = static_cast<char>('a' + random() % 20);
                texts.add(text);
            }
        }
        return texts;
    }();
    return made;
}

TEST(memory, counts_what_is_kept_of_each_text) {
    const text_list texts = short_texts().list();
    duplicate_options options;
    options.threshold = {1, 1000};  // only equal lengths
    context ctx = context::cpu(2);
    ctx.memory_bytes = texts.size() * sizeof(text_sketch);
    EXPECT_THROW(near_duplicates(texts, options, {0, true, true}, ctx), out_of_memory);
    ctx.memory_bytes = texts.size() * 400;
    EXPECT_TRUE(near_duplicates(texts, options, {0, true, true}, ctx).pairs.empty());
}

/// Pairs from those of first texts, added in pieces.
TEST(links, give_all_pairs_again) {
    EXPECT_TRUE(rc::check("pairs of any texts", [] {
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        const auto count = *rc::gen::inRange<std::uint32_t>(1, 40);
        const std::string base(100, 'x');
        corpus texts;
        for (std::uint32_t i = 0; i < count; ++i) {
            std::string text = base;
            for (std::uint64_t edits = random() % 3; edits > 0; --edits) text[random() % 3 * 40] = '!';
            texts.add(random() % 5 == 0 ? std::string() : text);
        }
        const context ctx = context::cpu(1);
        duplicate_options options;
        options.threshold = {2, 200};  // one edit
        std::vector<text_sketch> sketches;
        std::vector<duplicate_pair> kept;
        for (std::uint32_t first = 0; first < count;) {
            const std::uint32_t end = first + 1 + static_cast<std::uint32_t>(random() % (count - first));
            const text_list list{texts.list().bytes.first(texts.offsets[end]),
                                 texts.list().offsets.first(end + std::size_t{1})};
            const text_sketches known{{sketches}, {}};
            auto links = near_duplicates(list, known, options, {first, true, true, true}, ctx).pairs;
            auto made = sketch_texts(list, first, edit_unit::byte, ctx);
            link_equal_texts(made, first, links);
            sketches.insert(sketches.end(), made.begin(), made.end());
            keep_first_equals({{sketches}, {}}, links);
            kept.insert(kept.end(), links.begin(), links.end());
            first = end;
        }
        auto truth = near_duplicates(texts.list(), options, {}, ctx).pairs;
        std::vector<bool> wanted(count);
        for (std::uint32_t i = 0; i < count; ++i) wanted[i] = random() % 2 == 0;
        std::erase_if(truth, [&](const duplicate_pair& p) { return !wanted[p.b]; });
        std::uint64_t number = 0;
        RC_ASSERT(pairs_of_equals({{sketches}, {}}, kept, wanted, false, number, ctx) == truth);
        RC_ASSERT(number == truth.size());
        const auto links = pairs_of_equals({{sketches}, {}}, kept, wanted, true, number, ctx);
        RC_ASSERT(number == truth.size());
        RC_ASSERT(members(links, count) == members(truth, count));
    }));
}

template <class Tested>
class memory_test : public on_place<Tested> {};
TYPED_TEST_SUITE(memory_test, tested_places, tested_place_names);

/// 900 texts of 20 to 120 characters, many near each other, and some equal.
const corpus& near_texts() {
    static const corpus made = [] {
        std::mt19937_64 random(21);
        corpus texts;
        std::vector<std::string> all;
        for (std::size_t i = 0; i < 900; ++i) {
            std::string text = all.empty() ? "" : all[random() % all.size()];
            if (i % 5 == 0) {
                text.resize(20 + random() % 100);
                for (char& c : text) c = static_cast<char>('a' + random() % 6);
            }
            for (std::uint64_t edits = random() % 4; edits > 0; --edits) text[random() % text.size()] = 'z';
            all.push_back(text);
            texts.add(text);
        }
        return texts;
    }();
    return made;
}

TYPED_TEST(memory_test, tiles_find_the_same_pairs) {
    for (const edit_unit unit : {edit_unit::byte, edit_unit::character}) {
        for (const duplicate_scope scope : {duplicate_scope{}, {400, true}, {400, false}}) {
            duplicate_options options;
            options.unit = unit;
            const duplicate_result truth =
                near_duplicates(near_texts().list(), options, scope, TypeParam::ctx());
            ASSERT_GT(truth.pairs.size(), 300U);
            for (const std::uint64_t kilobytes : {400, 700, 1500}) {
                context ctx = TypeParam::ctx();
                ctx.memory_bytes = kilobytes << 10;
                ctx.gpu_memory_bytes = (kilobytes << 10) + (std::uint64_t{9} << 20);  // 8 MB of candidates
                const duplicate_result found = near_duplicates(near_texts().list(), options, scope, ctx);
                EXPECT_EQ(found.pairs, truth.pairs) << kilobytes << " KiB";
                EXPECT_EQ(found.counts.candidates, truth.counts.candidates);
                EXPECT_EQ(found.counts.verified, truth.counts.verified);
            }
        }
    }
}

}  // namespace
}  // namespace quern::memory_test
