// SPDX-License-Identifier: Apache-2.0
// Pairs of short texts from an index of segments: the same pairs and links as from the plain table of every pair, wherever the
// border between short and long texts is, and however the texts are cut.
#include "ops/near_duplicates/filter/short_texts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>
#include <string>

#include "ops/near_duplicates/filter/find_on_cpu.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/text_sketches.hpp"
#include "reference/edit_distance_reference.hpp"

namespace quern::short_texts_test {
namespace {

using namespace near_duplicates_detail;
using way = segment_choice::way;

struct corpus {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};

    void add(const std::string& text) {
        bytes += text;
        offsets.push_back(bytes.size());
    }
    text_list list() const { return {bytes, offsets}; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(list().size()); }
};

std::string random_text(std::mt19937_64& random, std::size_t length, const std::string& letters) {
    std::string text(length, 0);
    for (char& c : text) c = letters[random() % letters.size()];
    return text;
}

std::string edited(std::mt19937_64& random, std::string text, std::size_t edits, const std::string& letters) {
    for (std::size_t e = 0; e < edits; ++e) {
        const char c = letters[random() % letters.size()];
        const std::size_t at = text.empty() ? 0 : random() % text.size();
        const auto kind = random() % 3;
        if (kind == 0 || text.empty()) {
            text.insert(at, 1, c);
        } else if (kind == 1) {
            text.erase(at, 1);
        } else {
            text[at] = c;
        }
    }
    return text;
}

/// Texts of many lengths with neighbours of few edits, some equal; `begin` comes before each.
corpus families(std::uint64_t seed, std::uint32_t count, std::size_t longest, const std::string& letters,
                const std::string& begin = "") {
    std::mt19937_64 random(seed);
    corpus texts;
    std::string last;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i == 0 || random() % 3 == 0) last = random_text(random, random() % (longest + 1), letters);
        const std::string text = edited(random, last, random() % (1 + last.size() / 4), letters);
        texts.add(begin + text);
        if (random() % 2 == 0) last = text;
    }
    return texts;
}

const std::string all_bytes = [] {
    std::string bytes;
    for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
    return bytes;
}();
const std::string accents =
    "\xc3\xa9\xc3\xa8\xe4\xb8\xad"
    "ab";  // cut anywhere

const decimal thresholds[] = {{1, 100}, {3, 100}, {5, 100}, {1, 10}, {1, 5}, {1, 2}};

duplicate_options options_for(const decimal& threshold, edit_unit unit) {
    duplicate_options options;
    options.threshold = threshold;
    options.unit = unit;
    return options;
}

std::vector<duplicate_pair> truth_of(const corpus& texts, duplicate_options options,
                                     const duplicate_scope& scope) {
    options.method = duplicate_method::exhaustive;
    return near_duplicates(texts.list(), options, scope, context::cpu(1)).pairs;
}

std::vector<duplicate_pair> found_in(const corpus& texts, const duplicate_options& options,
                                     const duplicate_scope& scope, const segment_choice& choice,
                                     unsigned threads, std::uint64_t memory = 0) {
    context ctx = context::cpu(threads);
    if (memory != 0) ctx.memory_bytes = memory;
    cpu_place place(ctx);
    duplicate_counts counts;
    return options.unit == edit_unit::byte
               ? find_on_cpu<std::uint8_t>(place, texts.list(), {}, options, scope, choice, counts)
               : find_on_cpu<std::uint32_t>(place, texts.list(), {}, options, scope, choice, counts);
}

/// The links of groups: each text with the first one.
std::vector<duplicate_pair> links_of(std::span<const duplicate_pair> pairs, std::size_t texts) {
    std::vector<duplicate_pair> links;
    for (const auto& group : duplicate_groups(pairs, std::vector<std::uint64_t>(texts), keep_policy::first))
        for (const std::uint32_t text : std::span(group.members).subspan(1))
            links.push_back({group.members.front(), text, 0, 0});
    std::ranges::sort(links, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
    return links;
}

void expect_found(const corpus& texts, const decimal& threshold, edit_unit unit, const duplicate_scope& scope,
                  const segment_choice& choice, unsigned threads) {
    const duplicate_options options = options_for(threshold, unit);
    const auto truth = truth_of(texts, options, scope);
    const auto what = "threshold " + std::to_string(threshold.value()) + ", longest " +
                      std::to_string(choice.longest) + ", way " +
                      std::to_string(static_cast<int>(choice.by)) + ", first new " +
                      std::to_string(scope.first_new);
    EXPECT_EQ(found_in(texts, options, scope, choice, threads), truth) << what;
    duplicate_scope links = scope;
    links.links_only = true;
    EXPECT_EQ(found_in(texts, options, links, choice, threads), links_of(truth, texts.size())) << what;
}

constexpr std::uint32_t no_end = 0xffffffff;

TEST(short_texts, have_the_same_pairs_wherever_they_end) {
    const corpus texts = families(1, 150, 60, "abcdefghijklmnopqrstuvwxyz ");
    for (const decimal& threshold : thresholds)
        for (const std::uint32_t longest : {0u, 1u, 9u, 10u, 11u, 20u, 21u, 33u, 64u, 1000u})
            for (const way by : {way::segments, way::parities})
                expect_found(texts, threshold, edit_unit::byte, {}, {by, longest, 0, no_end}, 1);
}

TEST(short_texts, have_the_same_pairs_in_any_alphabet_and_unit) {
    for (const std::string& letters :
         {std::string("a"), std::string("ab"), std::string("0123456789"), accents, all_bytes})
        for (const edit_unit unit : {edit_unit::byte, edit_unit::character})
            for (const decimal& threshold : thresholds)
                for (const std::string& begin : {std::string(), std::string("http://www.example.com/")})
                    expect_found(families(2 + letters.size(), 60, 50, letters, begin), threshold, unit, {},
                                 {way::segments, 1000, 0, no_end}, 2);
}

TEST(short_texts, have_the_same_pairs_with_any_threads_indices_and_scopes) {
    const corpus texts = families(3, 130, 45, "abcdef");
    for (const unsigned threads : {1u, 2u, 3u, 8u})
        for (const std::uint32_t at_once : {1u, 3u, no_end})
            for (const duplicate_scope& scope :
                 {duplicate_scope{}, {1, true}, {60, true}, {60, false}, {129, true}, {130, true}})
                for (const std::uint32_t longest : {15u, 1000u})
                    for (const way by : {way::segments, way::parities, way::cheapest})
                        expect_found(texts, {1, 10}, edit_unit::byte, scope, {by, longest, 0, at_once},
                                     threads);
}

/// One text of each length 0 to 60, each with all that a single edit at its ends or in the middle makes.
TEST(short_texts, are_found_at_each_length_and_place_of_an_edit) {
    corpus texts;
    std::mt19937_64 random(4);
    for (std::size_t length = 0; length <= 60; ++length) {
        const std::string text = random_text(random, length, "abcdefghijklmnopqrstuvwxyz");
        texts.add(text);
        for (const std::size_t at : {std::size_t{0}, length / 2, length}) {
            texts.add(std::string(text).insert(at, 1, '-'));
            if (at < length) texts.add(std::string(text).erase(at, 1));
            if (at < length) texts.add(std::string(text).replace(at, 1, "="));
        }
    }
    for (const decimal& threshold : {decimal{25, 1000}, {5, 100}, {1, 10}})
        expect_found(texts, threshold, edit_unit::byte, {}, {way::segments, 1000, 0, no_end}, 1);
}

TEST(short_texts, have_the_same_pairs_whatever_the_texts) {
    EXPECT_TRUE(rc::check("segments find what the plain table finds", [] {
        const auto seed = *rc::gen::arbitrary<std::uint64_t>();
        const auto count = *rc::gen::inRange<std::uint32_t>(0, 80);
        const auto longest = *rc::gen::inRange<std::size_t>(0, 150);
        const auto letters =
            *rc::gen::element(std::string("ab"), std::string("abcdefghijklmnopqrst"), accents, all_bytes);
        const decimal threshold{*rc::gen::inRange<std::uint64_t>(1, 501), 1000};
        const edit_unit unit = *rc::gen::element(edit_unit::byte, edit_unit::character);
        const duplicate_scope scope{*rc::gen::inRange<std::uint32_t>(0, count + 1),
                                    *rc::gen::arbitrary<bool>()};
        const segment_choice choice{*rc::gen::element(way::segments, way::parities, way::cheapest),
                                    *rc::gen::inRange<std::uint32_t>(0, 200), 0,
                                    *rc::gen::element<std::uint32_t>(1, 5, no_end)};
        expect_found(
            families(seed, count, longest, letters, *rc::gen::element(std::string(), std::string("common "))),
            threshold, unit, scope, choice, *rc::gen::element(1u, 3u));
        RC_ASSERT(!::testing::Test::HasFailure());
    }));
}

/// Enough texts of some lengths for the choice by cost, and for lists of many texts in the index.
corpus many_lines(std::uint32_t count) {
    std::mt19937_64 random(5);
    corpus texts;
    std::vector<std::string> lines;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (random() % 4 == 0 && !lines.empty())
            lines.push_back(edited(random, lines[random() % lines.size()], 1 + random() % 2, "xyz"));
        else
            lines.push_back("item number " + std::to_string(random() % 100'000'000) +
                            (random() % 2 == 0 ? " is sold" : ""));
        texts.add(lines.back());
    }
    return texts;
}

TEST(short_texts, are_the_same_with_any_memory_and_threads_where_they_are_many) {
    const corpus texts = many_lines(1500);
    for (const edit_unit unit : {edit_unit::byte, edit_unit::character}) {
        const duplicate_options options = options_for({5, 100}, unit);
        const auto truth = truth_of(texts, options, {});
        EXPECT_GT(truth.size(), 100u);
        for (const duplicate_scope& scope :
             {duplicate_scope{}, {0, true, true}, {1000, true}, {700, false}}) {
            const auto wanted = scope.links_only       ? links_of(truth, texts.size())
                                : scope.first_new == 0 ? truth
                                                       : truth_of(texts, options, scope);
            for (const unsigned threads : {1u, 2u, 3u, 8u}) {
                EXPECT_EQ(found_in(texts, options, scope, {}, threads), wanted);
                EXPECT_EQ(found_in(texts, options, scope, {way::segments, 1000, 0, no_end}, threads), wanted);
                EXPECT_EQ(
                    found_in(texts, options, scope, {way::segments, 1000, 0, no_end}, threads, 700 << 10),
                    wanted);
            }
        }
    }
}

TEST(short_texts, of_one_family_are_linked_without_all_their_pairs) {
    std::mt19937_64 random(6);
    const std::string base = random_text(random, 60, "abcdefghijklmnopqrstuvwxyz");
    corpus texts;
    for (std::uint32_t i = 0; i < 2000; ++i) texts.add(edited(random, base, 2, "ABCDEFGH"));
    cpu_place place(context::cpu(1));
    duplicate_counts counts;
    const auto links =
        find_on_cpu<std::uint8_t>(place, texts.list(), {}, options_for({5, 100}, edit_unit::byte),
                                  {0, true, true}, {way::segments, 1000, 0, no_end}, counts);
    EXPECT_EQ(links.size(), 1999u);
    EXPECT_LE(counts.verified, 4000u);
}

/// 30,000 lines have 450 million pairs; those that share a segment of a well chosen place are few.
TEST(short_texts, with_a_common_beginning_have_few_candidates) {
    corpus texts;
    std::mt19937_64 random(9);
    for (std::uint32_t i = 0; i < 30'000; ++i)
        texts.add("the common beginning of all: " + random_text(random, 24, "abcdefghijklmnopqrstuvwxyz"));
    cpu_place place(context::cpu(2));
    duplicate_counts counts;
    const duplicate_options options = options_for({5, 100}, edit_unit::byte);
    find_on_cpu<std::uint8_t>(place, texts.list(), {}, options, {}, {}, counts);
    EXPECT_EQ(counts.compared, 30'000ULL * 29'999 / 2);
    EXPECT_LT(counts.candidates, 1000u);
}

TEST(segments, one_is_unchanged_within_its_shifts) {
    EXPECT_TRUE(rc::check("a pair within d edits shares a segment", [] {
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        const auto length = *rc::gen::inRange<std::uint32_t>(2, 60);
        const auto edits = *rc::gen::inRange<std::uint32_t>(0, 8);
        const auto distance = std::min(*rc::gen::inRange<std::uint32_t>(edits, 12), length - 1);
        const std::string a = random_text(random, length, "ab"), b = edited(random, a, edits, "ab");
        std::vector<std::uint32_t> cuts{0, length};  // anywhere
        while (cuts.size() < distance + 2) {
            const auto cut = static_cast<std::uint32_t>(1 + random() % (length - 1));
            if (std::ranges::find(cuts, cut) == cuts.end()) cuts.push_back(cut);
        }
        std::ranges::sort(cuts);
        const std::vector<std::uint8_t> x(a.begin(), a.end()), y(b.begin(), b.end());
        if (reference::edit_distance(x, y) > distance) return;
        bool is_shared = false;
        const auto longer_by = static_cast<std::int32_t>(b.size()) - static_cast<std::int32_t>(a.size());
        for (std::uint32_t s = 0; s <= distance; ++s) {
            const std::string segment = a.substr(cuts[s], cuts[s + 1] - cuts[s]);
            const shift_range shifts = shifts_of(s, distance, longer_by);
            for (std::int32_t shift = shifts.first; shift <= shifts.last; ++shift) {
                const std::int64_t at = std::int64_t{cuts[s]} + shift;
                if (at < 0 || at + segment.size() > b.size()) continue;
                is_shared |= b.compare(static_cast<std::size_t>(at), segment.size(), segment) == 0;
            }
        }
        RC_ASSERT(is_shared);
    }));
}

TEST(segments, cover_a_text_and_avoid_what_all_texts_share) {
    std::mt19937_64 random(7);
    for (const std::uint32_t length : {1u, 2u, 24u, 128u, 129u, 300u, 1000u}) {
        for (const std::uint32_t distance : {0u, 1u, 3u, 63u}) {
            if (distance >= length) continue;
            agreements agreed(length);
            std::vector<std::string> texts;
            for (int i = 0; i < 20; ++i)
                texts.push_back(std::string(length / 2, '=') +
                                random_text(random, length - length / 2, "abcdefghijklmnopqrstuvwxyz"));
            for (std::size_t i = 0; i < texts.size(); ++i)
                for (std::size_t j = i + 1; j < texts.size(); ++j) agreed.add<char>(texts[i], texts[j]);
            agreed.finish();
            const auto cuts = agreed.cuts(distance);
            ASSERT_EQ(cuts.size(), distance + 2);
            EXPECT_EQ(cuts.front(), 0u);
            EXPECT_EQ(cuts.back(), length);
            EXPECT_TRUE(std::ranges::is_sorted(cuts, std::less_equal()));
            if (length >= 24 && distance <= 3) {
                EXPECT_GT(cuts[1], length / 2) << length << ", " << distance;
                EXPECT_LT(agreed.matches(cuts), 0.1) << length << ", " << distance;
            }
        }
    }
}

TEST(parities, are_near_where_few_bits_differ) {
    std::mt19937_64 random(8);
    for (const std::size_t count : {0, 1, 2, 7, 8, 9, 31, 64, 255}) {
        std::vector<std::uint64_t> words;
        for (std::size_t i = 0; i < count; ++i) words.push_back(random() & random() & random());
        for (const unsigned max : {0u, 5u, 16u, 64u}) {
            const std::uint64_t word = random() & random();
            std::vector<std::uint32_t> wanted, found(count);
            for (std::uint32_t i = 0; i < count; ++i)
                if (count_of_ones(word ^ words[i]) <= max) wanted.push_back(i);
            found.resize(near_words(word, words.data(), count, max, found.data()));
            EXPECT_EQ(found, wanted) << count << ", " << max;
        }
    }
}

}  // namespace
}  // namespace quern::short_texts_test
