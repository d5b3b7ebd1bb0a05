// SPDX-License-Identifier: Apache-2.0
// Method `automatic` finds the same as `exhaustive` and as the plain table of every pair: on texts made to pass or to break
// filters, at every threshold, with old and new texts, at every place.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>

#include "on_each_place.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/exact/find_exhaustively.hpp"
#include "ops/near_duplicates/filter/gram_filter.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"
#include "ops/near_duplicates/texts/texts.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/text_sketches.hpp"
#include "reference/edit_distance_reference.hpp"

namespace quern::automatic_test {
namespace {

using namespace near_duplicates_detail;

/// Texts that own their memory.
struct corpus {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};

    corpus() = default;
    corpus(std::initializer_list<std::string> texts) {
        for (const std::string& text : texts) add(text);
    }
    void add(const std::string& text) {
        bytes += text;
        offsets.push_back(bytes.size());
    }
    text_list list() const { return {bytes, offsets}; }
};

/// All distances of a corpus, by the plain table, and from them the pairs below a threshold, by the definition.
class truth_of {
  public:
    explicit truth_of(const corpus& texts) {
        const text_list list = texts.list();
        for (std::uint32_t a = 0; a < list.size(); ++a) {
            const std::vector<std::uint8_t> x(list[a].begin(), list[a].end());
            for (std::uint32_t b = a + 1; b < list.size(); ++b) {
                const std::vector<std::uint8_t> y(list[b].begin(), list[b].end());
                all_.push_back({a, b, reference::edit_distance(x, y), x.size() + y.size()});
            }
        }
    }
    std::vector<duplicate_pair> below(const decimal& threshold, const duplicate_scope& scope = {}) const {
        std::vector<duplicate_pair> pairs;
        for (const duplicate_pair& pair : all_) {
            const bool requested =
                pair.b >= scope.first_new && (scope.within_new || pair.a < scope.first_new);
            const bool near =
                pair.distance * threshold.denominator < threshold.numerator * pair.of || pair.of == 0;
            if (requested && near) pairs.push_back(pair);
        }
        return pairs;
    }

  private:
    std::vector<duplicate_pair> all_;
};

std::string random_text(std::mt19937_64& random, std::size_t length, unsigned letters) {
    std::string text(length, 0);
    for (char& c : text) c = static_cast<char>('a' + random() % letters);
    return text;
}

std::string edited(std::mt19937_64& random, std::string text, std::size_t edits, unsigned letters) {
    for (std::size_t e = 0; e < edits; ++e) {
        const std::size_t at = text.empty() ? 0 : random() % text.size();
        const char c = static_cast<char>('a' + random() % letters);
        switch (random() % 3) {
            case 0:
                text.insert(at, 1, c);
                break;
            case 1:
                if (!text.empty()) text.erase(at, 1);
                break;
            default:
                if (!text.empty()) text[at] = c;
        }
    }
    return text;
}

/// Families of texts that are few or many edits apart, around every threshold up to 0.15.
corpus families(std::uint64_t seed, std::size_t count, std::size_t longest, unsigned letters) {
    std::mt19937_64 random(seed);
    corpus texts;
    std::string last;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t length = random() % (longest + 1);
        if (i == 0 || random() % 3 == 0) last = random_text(random, length, letters);
        texts.add(edited(random, last, random() % (1 + last.size() / 3), letters));
    }
    return texts;
}

const corpus& hostile() {
    static const corpus texts = [] {
        corpus all{"", "", "a", "b", "a", "ab", "ba", std::string(1, '\0'), "\xff\xfe", "\xc3", "\xc3\xa4"};
        for (const std::size_t n : {20, 21, 64, 65, 200, 256, 300}) {
            all.add(std::string(n, 'a'));
            all.add(std::string(n, 'a'));
            all.add(std::string(n - 1, 'a') + "b");
            std::string mixed, turned, shifted = "x";
            for (std::size_t i = 0; i < n; ++i) mixed += static_cast<char>('a' + i % 7);
            turned.assign(mixed.rbegin(), mixed.rend());
            shifted += mixed.substr(0, n - 1);
            std::string halves = mixed.substr(n / 2) + mixed.substr(0, n / 2);  // the same counts, far apart
            for (const std::string& text : {mixed, turned, shifted, halves}) all.add(text);
            std::string bytes;
            for (std::size_t i = 0; i < n; ++i) bytes += static_cast<char>(i * 31);
            all.add(bytes);
            bytes[n / 2] = static_cast<char>(bytes[n / 2] + 1);
            all.add(bytes);
        }
        return all;
    }();
    return texts;
}

const decimal thresholds[] = {{1, 1'000'000}, {1, 100}, {5, 100}, {1, 10}, {15, 100}, {5, 10}};

template <class Tested>
class automatic_test : public on_place<Tested> {
  protected:
    void expect_found(const corpus& texts, const decimal& threshold, const duplicate_scope& scope = {}) {
        expect_found(texts, truth_of(texts), threshold, scope);
    }
    void expect_found(const corpus& texts, const truth_of& all, const decimal& threshold,
                      const duplicate_scope& scope = {}) {
        duplicate_options options;
        options.threshold = threshold;
        duplicate_counts counts;
        const auto units = as_bytes(texts.list());
        const auto truth = all.below(threshold, scope);
        EXPECT_EQ(find_by_sketches<std::uint8_t>(this->place(), texts.list(), {}, options, scope, counts),
                  truth)
            << "automatic, threshold " << threshold.value();
        EXPECT_EQ(find_exhaustively(this->place(), units, options, scope, counts), truth)
            << "exhaustive, threshold " << threshold.value();
    }
};
TYPED_TEST_SUITE(automatic_test, tested_places, tested_place_names);

TYPED_TEST(automatic_test, finds_all_pairs_of_hostile_texts) {
    static const truth_of all(hostile());
    for (const decimal& threshold : thresholds) this->expect_found(hostile(), all, threshold);
}

TYPED_TEST(automatic_test, finds_all_pairs_of_families) {
    for (const unsigned letters : {2u, 26u}) {
        const corpus texts = families(7 * letters, tested_with().small_sizes ? 40 : 80, 300, letters);
        const truth_of all(texts);
        for (const decimal& threshold : thresholds) this->expect_found(texts, all, threshold);
    }
}

TYPED_TEST(automatic_test, finds_nothing_in_nothing) {
    this->expect_found({}, {5, 100});
    this->expect_found({"alone"}, {5, 100});
    this->expect_found({"", ""}, {5, 100});
}

TYPED_TEST(automatic_test, compares_new_texts_only) {
    const corpus texts = families(3, 60, 120, 4);
    const truth_of all(texts);
    for (const std::uint32_t first_new : {0u, 1u, 30u, 59u, 60u})
        for (const bool within : {true, false}) this->expect_found(texts, all, {1, 10}, {first_new, within});
}

TYPED_TEST(automatic_test, copies_are_pairs_of_all_their_likes) {
    std::mt19937_64 random(5);
    const std::string text = random_text(random, 200, 20), other = edited(random, text, 5, 20);
    corpus texts;
    for (int i = 0; i < 12; ++i) texts.add(i % 3 == 0 ? other : text);
    this->expect_found(texts, {5, 100});
    this->expect_found(texts, {5, 100}, {7, true});
    this->expect_found(texts, {5, 100}, {7, false});
}

TYPED_TEST(automatic_test, crosses_the_tiles_of_the_join) {
    // More texts than a tile of the GPU or a piece of the CPU, all within each other's lengths.
    std::mt19937_64 random(11);
    corpus texts;
    const std::size_t count = tested_with().small_sizes ? 300 : 600;
    for (std::size_t i = 0; i < count; ++i) texts.add(random_text(random, 14 + i % 3, 3));
    this->expect_found(texts, {12, 100});
}

/// Sketches of the texts before `end`, in ranges that end at `cuts`.
struct kept_sketches {
    std::vector<std::vector<text_sketch>> chunks;

    void add(const corpus& texts, std::uint32_t end, edit_unit unit, std::span<const duplicate_pair> pairs) {
        std::uint32_t first = 0;
        for (const auto& chunk : chunks) first += static_cast<std::uint32_t>(chunk.size());
        std::vector<text_sketch> made;
        for (std::uint32_t i = first; i < end; ++i) made.push_back(sketch_text(texts.list()[i], unit));
        link_equal_texts(made, first, pairs);
        chunks.push_back(std::move(made));
    }
    text_sketches list() const {
        text_sketches all;
        for (const auto& chunk : chunks) all.chunks.emplace_back(chunk);
        return all;
    }
};

/// All pairs, with texts added in pieces that end at `cuts`.
template <class Unit, class Place>
std::vector<duplicate_pair> found_in_pieces(Place& place, const corpus& texts,
                                            const std::vector<std::uint32_t>& cuts,
                                            const decimal& threshold) {
    duplicate_options options;
    options.threshold = threshold;
    kept_sketches kept;
    std::vector<duplicate_pair> all;
    std::uint32_t first = 0;
    for (const std::uint32_t end : cuts) {
        const text_list list{texts.list().bytes.first(texts.offsets[end]),
                             texts.list().offsets.first(end + std::size_t{1})};
        duplicate_counts counts;
        const auto pairs = find_by_sketches<Unit>(place, list, kept.list(), options, {first, true}, counts);
        kept.add(texts, end, unit_of<Unit>, pairs);
        all.insert(all.end(), pairs.begin(), pairs.end());
        first = end;
    }
    std::ranges::sort(all, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
    return all;
}

TYPED_TEST(automatic_test, pieces_find_what_one_call_finds) {
    EXPECT_TRUE(rc::check("any split gives the same pairs", [this] {
        const auto count = *rc::gen::inRange<std::uint32_t>(1, 40);
        const auto seed = *rc::gen::arbitrary<std::uint64_t>();
        const auto letters = *rc::gen::inRange<unsigned>(1, 30);
        corpus texts = families(seed, count, *rc::gen::inRange<std::size_t>(0, 150), letters);
        std::mt19937_64 random(seed);
        std::vector<std::uint32_t> cuts;
        for (std::uint32_t i = 1; i < texts.list().size(); ++i)
            if (random() % 4 == 0) cuts.push_back(i);
        cuts.push_back(count);
        const decimal threshold{*rc::gen::inRange<std::uint64_t>(1, 151), 1000};
        const auto truth = truth_of(texts).below(threshold);  // of letters: bytes are characters
        EXPECT_EQ(found_in_pieces<std::uint8_t>(this->place(), texts, cuts, threshold), truth);
        EXPECT_EQ(found_in_pieces<std::uint32_t>(this->place(), texts, cuts, threshold), truth);
        RC_ASSERT(!::testing::Test::HasFailure());
    }));
}

TYPED_TEST(automatic_test, pieces_of_hostile_texts) {
    const auto count = static_cast<std::uint32_t>(hostile().list().size());
    static const truth_of all(hostile());
    for (const decimal& threshold : thresholds) {
        EXPECT_EQ(
            found_in_pieces<std::uint8_t>(this->place(), hostile(), {1, 2, 40, count - 1, count}, threshold),
            all.below(threshold));
        const auto once = found_in_pieces<std::uint32_t>(this->place(), hostile(), {count}, threshold);
        EXPECT_EQ(found_in_pieces<std::uint32_t>(this->place(), hostile(), {3, 60, count}, threshold), once);
    }
}

/// Copies of copies, old and new: each class is compared once, and all of its members are pairs.
TYPED_TEST(automatic_test, pieces_of_copies) {
    std::mt19937_64 random(6);
    const std::string text = random_text(random, 200, 20), other = edited(random, text, 5, 20),
                      third = edited(random, other, 5, 20);
    corpus texts;
    for (int i = 0; i < 24; ++i) texts.add(i % 3 == 0 ? other : i % 4 == 1 ? third : text);
    const auto truth = truth_of(texts).below({5, 100});
    for (const std::uint32_t cut : {1u, 5u, 12u, 23u})
        EXPECT_EQ(found_in_pieces<std::uint8_t>(this->place(), texts, {cut, 24}, {5, 100}), truth);
}

TYPED_TEST(automatic_test, reads_no_old_text_that_its_sketch_rules_out) {
    corpus texts;
    for (char letter = 'a'; letter <= 'z'; ++letter) texts.add(std::string(300, letter));
    kept_sketches kept;
    kept.add(texts, 26, edit_unit::byte, {});
    texts.add(std::string(299, 'h') + "x");
    for (std::size_t i = 0; i < 26; ++i)
        if (i != 7) texts.bytes[i * 300] = '?';  // not known to its sketch
    text_sketches known = kept.list();
    std::atomic<int> others{0}, wanted{0};
    known.before_reading = [&](std::uint32_t i) { ++(i == 7 ? wanted : others); };
    duplicate_counts counts;
    EXPECT_EQ(find_by_sketches<std::uint8_t>(this->place(), texts.list(), known, {}, {26, true}, counts),
              (std::vector<duplicate_pair>{{7, 26, 1, 600}}));
    EXPECT_GT(wanted, 0);
    EXPECT_EQ(others, 0);
    EXPECT_EQ(counts.verified, 1u);
}

TYPED_TEST(automatic_test, any_texts_any_threshold) {
    EXPECT_TRUE(rc::check("automatic finds what the definition says", [this] {
        const auto count = *rc::gen::inRange<std::size_t>(0, 30);
        const auto seed = *rc::gen::arbitrary<std::uint64_t>();
        const auto longest = *rc::gen::inRange<std::size_t>(0, 150);
        const auto letters = *rc::gen::inRange<unsigned>(1, 30);
        const corpus texts = families(seed, count, longest, letters);
        const auto first_new = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(count + 1));
        this->expect_found(texts, {*rc::gen::inRange<std::uint64_t>(1, 151), 1000},
                           {first_new, *rc::gen::arbitrary<bool>()});
        RC_ASSERT(!::testing::Test::HasFailure());
    }));
}

TEST(near_duplicates, characters_are_one_edit) {
    // One character of three bytes: 1 edit of 40 characters, but 3 of 120 bytes.
    std::string text, other;
    for (int i = 0; i < 20; ++i) text += "\xe4\xb8\xad";
    other = text;
    other.replace(30, 3, "\xe6\x96\x87");
    const corpus texts{text, other};
    duplicate_options options;
    options.unit = edit_unit::character;
    const auto found = near_duplicates(texts.list(), options, {}, context::cpu());
    ASSERT_EQ(found.pairs.size(), 1u);
    EXPECT_EQ(found.pairs[0], (duplicate_pair{0, 1, 1, 40}));
    options.unit = edit_unit::byte;
    EXPECT_EQ(near_duplicates(texts.list(), options, {}, context::cpu()).pairs,
              (std::vector<duplicate_pair>{{0, 1, 3, 120}}));
}

TEST(near_duplicates, bytes_that_are_no_characters_stay_apart) {
    const corpus texts{"\xff", "\xfe", "\xff", "\xc3"};
    duplicate_options options;
    options.unit = edit_unit::character;
    EXPECT_EQ(near_duplicates(texts.list(), options, {}, context::cpu()).pairs,
              (std::vector<duplicate_pair>{{0, 2, 0, 2}}));
}

TEST(near_duplicates, refuses_options_out_of_range) {
    const corpus texts{"a", "b"};
    const auto refused = [&](auto change) {
        duplicate_options options;
        duplicate_scope scope;
        change(options, scope);
        EXPECT_THROW(near_duplicates(texts.list(), options, scope, context::cpu()), usage_error);
    };
    refused([](auto& o, auto&) { o.threshold = {0, 1}; });
    refused([](auto& o, auto&) { o.threshold = {51, 100}; });
    refused([](auto& o, auto&) { o.signature_length = 0; });
    refused([](auto& o, auto&) { o.slack = {0, 1}; });
    refused([](auto&, auto& s) { s.first_new = 3; });
    refused([](auto& o, auto&) { o.method = duplicate_method::shingle; });
}

TEST(near_duplicates, sketches_of_some_new_texts_change_nothing) {
    const corpus texts{"one text", "", "one text", "another text", "one texts", "", "an other text"};
    const std::vector<text_sketch> all = sketch_texts(texts.list(), 0, edit_unit::byte, context::cpu());
    duplicate_options options;
    options.threshold = {1, 10};
    const auto truth = near_duplicates(texts.list(), options, {}, context::cpu()).pairs;
    EXPECT_EQ(truth.size(), 5u);
    for (std::size_t count = 0; count <= all.size(); ++count) {
        text_sketches known;
        known.chunks = {std::span(all).first(count / 2), std::span(all).first(count).subspan(count / 2)};
        EXPECT_EQ(near_duplicates(texts.list(), known, options, {}, context::cpu()).pairs, truth);
    }
}

TEST(near_duplicates, refuses_sketches_of_other_texts) {
    const corpus texts{"a", "b"};
    const auto refused = [&](std::vector<text_sketch> sketches) {
        text_sketches known;
        known.chunks.emplace_back(sketches);
        EXPECT_THROW(near_duplicates(texts.list(), known, {}, {1, true}, context::cpu()), usage_error);
    };
    text_sketch one = sketch_text("a", edit_unit::byte);
    refused({one});  // its equals are not known
    one.first_equal = 0;
    refused({one, one, one});
    one.length = 2;
    refused({one});
}

/// The other methods read every old text, and report that first.
TEST(near_duplicates, methods_without_sketches_tell_what_they_read) {
    const corpus texts{"some text", "some texd", "another"};
    for (const auto method : {duplicate_method::exhaustive, duplicate_method::signature}) {
        duplicate_options options;
        options.method = method;
        text_sketches known;
        std::vector<std::uint32_t> read;
        known.before_reading = [&](std::uint32_t text) { read.push_back(text); };
        near_duplicates(texts.list(), known, options, {2, true}, context::cpu());
        EXPECT_EQ(read, (std::vector<std::uint32_t>{0, 1}));
    }
}

TEST(near_duplicates, stops_when_requested) {
    const std::atomic<int> stop = 2;
    context ctx = context::cpu(1);
    ctx.stop_signal = &stop;
    EXPECT_THROW(near_duplicates(hostile().list(), {}, {}, ctx), interrupted);
}

/// d edits never break a bound: the filters get the true distance.
TEST(filters, never_lose_a_pair) {
    std::mt19937_64 random(1);
    gram_filter<std::uint8_t> grams;
    std::vector<std::vector<std::uint8_t>> kept(3000);  // a filter reads its last text again
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const unsigned letters = 1 + static_cast<unsigned>(random() % 5);
        const std::string a = random_text(random, random() % 200, letters),
                          b = i % 2 == 0 ? edited(random, a, random() % 30, letters)
                                         : random_text(random, random() % 200, letters);
        const std::vector<std::uint8_t> x(a.begin(), a.end()), y(b.begin(), b.end());
        const auto d = static_cast<std::uint32_t>(reference::edit_distance(x, y));
        std::array<std::uint8_t, unit_buckets> units_x, units_y;
        std::array<std::uint8_t, pair_buckets> pairs_x, pairs_y;
        sketch_units<std::uint8_t>(x, units_x.data());
        sketch_pairs<std::uint8_t>(x, pairs_x.data());
        sketch_units<std::uint8_t>(y, units_y.data());
        sketch_pairs<std::uint8_t>(y, pairs_y.data());
        const auto apart = [&](unsigned q) {
            const auto in_x = static_cast<std::int64_t>(grams_in(x.size(), q)),
                       in_y = static_cast<std::int64_t>(grams_in(y.size(), q));
            return static_cast<std::uint64_t>(in_x < in_y ? in_y - in_x : in_x - in_y);
        };
        std::uint32_t norm = 0;
        unit_norms(units_x.data(), units_y.data(), 1, &norm);
        EXPECT_LE(norm, largest_norm(1, d, apart(1))) << a << " " << b;
        EXPECT_LE(pair_norm(pairs_x.data(), pairs_y.data()), largest_norm(2, d, apart(2))) << a << " " << b;
        kept[i] = x;
        grams.set(kept[i]);
        EXPECT_TRUE(grams.allows(static_cast<std::uint32_t>(i), y, d)) << a << " " << b;
        EXPECT_TRUE(grams.allows(static_cast<std::uint32_t>(i), y, d))
            << "the second time: " << a << " " << b;
    }
}

TEST(filters, tell_unrelated_texts_apart) {
    std::mt19937_64 random(2);
    const std::string a = random_text(random, 2000, 26), b = random_text(random, 2000, 26);
    gram_filter<std::uint8_t> grams;
    const auto bytes = [](const std::string& s) {
        return std::span(reinterpret_cast<const std::uint8_t*>(s.data()), s.size());
    };
    grams.set(bytes(a));
    EXPECT_FALSE(grams.allows(1, bytes(b), 199));
    EXPECT_TRUE(grams.allows(0, bytes(a), 0));
}

TEST(filters, norms_are_those_of_the_definition) {
    std::mt19937_64 random(3);
    std::vector<std::uint8_t> rows(9 * unit_buckets), pairs(2 * pair_buckets);
    for (auto& byte : rows)
        byte = static_cast<std::uint8_t>(random() % 4 == 0 ? 255 * (random() % 2) : random());
    for (auto& byte : pairs)
        byte = static_cast<std::uint8_t>(random() % 4 == 0 ? 255 * (random() % 2) : random());
    for (std::size_t count = 0; count <= 8; ++count) {
        std::vector<std::uint32_t> norms(count + 1, 77);
        unit_norms(rows.data(), rows.data() + unit_buckets, count, norms.data());
        EXPECT_EQ(norms[count], 77u);
        for (std::size_t i = 0; i < count; ++i) {
            std::uint32_t norm = 0;
            for (std::size_t k = 0; k < unit_buckets; ++k)
                norm += static_cast<std::uint32_t>(std::abs(rows[k] - rows[(i + 1) * unit_buckets + k]));
            EXPECT_EQ(norms[i], norm);
        }
    }
    std::uint32_t norm = 0;
    for (std::size_t k = 0; k < pair_buckets; ++k)
        norm += static_cast<std::uint32_t>(std::abs(pairs[k] - pairs[pair_buckets + k]));
    EXPECT_EQ(pair_norm(pairs.data(), pairs.data() + pair_buckets), norm);
}

TEST(duplicate_groups, are_components_with_one_kept) {
    const std::vector<duplicate_pair> pairs{{1, 4, 0, 1}, {2, 3, 0, 1}, {4, 6, 0, 1}};
    const std::vector<std::uint64_t> lengths{9, 5, 7, 7, 8, 1, 5};
    const auto kept = [&](keep_policy keep) {
        std::vector<std::uint32_t> all;
        for (const auto& group : duplicate_groups(pairs, lengths, keep)) all.push_back(group.kept);
        return all;
    };
    const auto groups = duplicate_groups(pairs, lengths, keep_policy::first);
    ASSERT_EQ(groups.size(), 2u);
    EXPECT_EQ(groups[0].members, (std::vector<std::uint32_t>{1, 4, 6}));
    EXPECT_EQ(groups[1].members, (std::vector<std::uint32_t>{2, 3}));
    EXPECT_EQ(kept(keep_policy::first), (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(kept(keep_policy::last), (std::vector<std::uint32_t>{6, 3}));
    EXPECT_EQ(kept(keep_policy::longest), (std::vector<std::uint32_t>{4, 2}));
    EXPECT_EQ(kept(keep_policy::shortest), (std::vector<std::uint32_t>{1, 2}));
    EXPECT_TRUE(duplicate_groups({}, lengths, keep_policy::first).empty());
    EXPECT_THROW(duplicate_groups(pairs, std::span(lengths).first(6), keep_policy::first), usage_error);
}

}  // namespace
}  // namespace quern::automatic_test
