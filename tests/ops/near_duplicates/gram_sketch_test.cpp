// SPDX-License-Identifier: Apache-2.0
// Bitmaps of grams: a bound that never exceeds the distance, for any rule, scale and text; and method `automatic` on texts
// like prose, whose lengths cross the scales.
#include "ops/near_duplicates/filter/gram_sketch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "reference/edit_distance_reference.hpp"

namespace quern::gram_sketch_test {
namespace {

using namespace near_duplicates_detail;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Text of words that are as unequally frequent as those of a language.
std::string prose(std::mt19937_64& random, std::size_t length) {
    static const std::vector<std::string> words = [] {
        std::mt19937_64 letters(1);
        std::vector<std::string> all;
        for (int i = 0; i < 2000; ++i) {
            std::string word;
            for (std::size_t n = 1 + letters() % 8; n > 0; --n)
                word += "eeeetttaaoooiinnssrrhhldcumfpgwybvkxqjz"[letters() % 39];
            all.push_back(word);
        }
        return all;
    }();
    std::string text;
    while (text.size() < length) {
        const double x = static_cast<double>(random() % 10000) / 10000;
        text += words[static_cast<std::size_t>(x * x * x * 2000)] + " ";
    }
    text.resize(length);
    return text;
}

/// `edits` times one letter replaced, removed or inserted.
std::string edited(std::mt19937_64& random, std::string text, std::size_t edits) {
    for (; edits > 0 && !text.empty(); --edits) {
        const std::size_t at = random() % text.size();
        const char letter = static_cast<char>('a' + random() % 26);
        switch (random() % 3) {
            case 0:
                text.insert(at, 1, letter);
                break;
            case 1:
                text.erase(at, 1);
                break;
            default:
                text[at] = letter;
        }
    }
    return text;
}

gram_rules learnt_rules(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::string sample = prose(random, 2 * gram_rules::min_sample);
    const context ctx = context::cpu(2);
    cpu_place place(ctx);
    return gram_rules(place, bytes_of(sample), min_scale, 20);
}
gram_rules fixed_rules() {
    const context ctx = context::cpu(1);
    cpu_place place(ctx);
    return gram_rules(place, {}, min_scale, 20);
}

/// The definition: disjoint grams of a, of which all of b has none.
std::uint32_t missing(const gram_rules& rules, const std::string& a, const std::string& b, unsigned scale) {
    gram_sketcher sketcher(rules);
    std::vector<std::uint64_t> disjoint(bitmap_words(scale)), all(bitmap_words(scale));
    sketcher.set(bytes_of(a));
    const std::uint32_t population = sketcher.write_disjoint(scale, disjoint.data());
    sketcher.set(bytes_of(b));
    sketcher.write_all(scale, all.data());
    std::uint32_t bits = 0, lost = 0;
    for (std::size_t w = 0; w < all.size(); ++w) {
        bits += static_cast<std::uint32_t>(std::popcount(disjoint[w]));
        lost += static_cast<std::uint32_t>(std::popcount(disjoint[w] & ~all[w]));
    }
    EXPECT_EQ(population, bits);
    return lost;
}

TEST(gram_sketches, miss_at_most_one_gram_for_each_edit) {
    std::mt19937_64 random(2);
    for (const gram_rules& rules : {fixed_rules(), learnt_rules(3)}) {
        for (int i = 0; i < 400; ++i) {
            const std::string a = i % 4 == 0
                                      ? std::string(random() % 300, static_cast<char>('a' + random() % 2))
                                      : prose(random, random() % 300);
            const std::string b = edited(random, a, random() % 40);
            const auto d = reference::edit_distance(std::vector<char>(a.begin(), a.end()),
                                                    std::vector<char>(b.begin(), b.end()));
            for (const unsigned scale : {min_scale, 8u, 14u}) {
                EXPECT_LE(missing(rules, a, b, scale), d) << a << "\n" << b;
                EXPECT_LE(missing(rules, b, a, scale), d) << a << "\n" << b;
            }
        }
    }
}

TEST(gram_sketches, miss_at_most_one_gram_for_each_edit_of_long_texts) {
    std::mt19937_64 random(4);
    const gram_rules rules = learnt_rules(5);
    for (const std::size_t length : {1000u, 8191u, 8192u, 40000u}) {
        const std::string a = prose(random, length);
        const std::size_t edits = length / 12;
        const std::string b = edited(random, a, edits);
        const unsigned scale = scale_of(length);
        EXPECT_LE(missing(rules, a, b, scale), edits);
        EXPECT_LE(missing(rules, b, a, scale), edits);
        EXPECT_GT(missing(rules, a, b, scale), edits / 4) << "most edits change a gram";
    }
}

TEST(gram_sketches, count_repeated_grams) {
    // The same set of grams, but one text has them ten times.
    std::mt19937_64 random(6);
    const gram_rules rules = learnt_rules(7);
    const std::string once = prose(random, 500);
    std::string often;
    for (int i = 0; i < 10; ++i) often += once;
    EXPECT_GT(missing(rules, often, once, 12), 500u);
}

TEST(gram_sketches, separate_unrelated_prose) {
    std::mt19937_64 random(8);
    const gram_rules rules = learnt_rules(9);
    for (int i = 0; i < 20; ++i) {
        const std::string a = prose(random, 3000), b = prose(random, 3000);
        EXPECT_GT(missing(rules, a, b, 11), 300u) << "a rate of 0.05 allows 300 edits";
    }
}

TEST(gram_sketches, are_the_same_after_any_other_text) {
    std::mt19937_64 random(10);
    const gram_rules rules = learnt_rules(11);
    const std::string a = prose(random, 700), b(700, 'x');
    gram_sketcher used(rules), fresh(rules);
    std::vector<std::uint64_t> one(bitmap_words(13)), two(bitmap_words(13));
    used.set(bytes_of(b));
    used.write_all(13, one.data());
    used.write_disjoint(9, one.data());
    for (const unsigned scale : {9u, 13u}) {
        one.assign(one.size(), 0);
        two = one;
        used.set(bytes_of(a));
        fresh.set(bytes_of(a));
        used.write_all(scale, one.data());
        fresh.write_all(scale, two.data());
        EXPECT_EQ(one, two);
        EXPECT_EQ(used.write_disjoint(scale, one.data()), fresh.write_disjoint(scale, two.data()));
        EXPECT_EQ(one, two);
    }
}

TEST(gram_sketches, grams_are_cut_by_the_rule_on_every_target) {
    std::mt19937_64 random(14);
    const gram_rules learnt = learnt_rules(15), fixed = fixed_rules();
    for (const std::size_t n : {0u, 1u, 2u, 4u, 5u, 19u, 20u, 21u, 300u}) {
        std::string text = prose(random, n);
        if (n == 300) text.replace(50, 3, std::string("\0\xff\0", 3));
        std::vector<std::uint8_t> padded(text.begin(), text.end());
        padded.resize(n + 8);
        for (const gram_table* table : {&learnt.at(6), &learnt.at(12), &learnt.at(15), &fixed.at(6)}) {
            constexpr unsigned number_bits = 18;
            std::vector<gram> expected(n);
            std::vector<std::uint32_t> expected_numbers;
            for (std::size_t i = 0; i < n; ++i) {
                std::uint64_t units = 0;
                for (unsigned k = 0; k < 8; ++k) units |= std::uint64_t{padded[i + k]} << (8 * k);
                const unsigned length = table->length(units);
                if (length == 0 || i + length > n) continue;
                expected_numbers.push_back(gram_hash(units, length) >> (32 - number_bits));
                expected[i] = expected_numbers.back() << 3 | length;
            }
            on_every_target([&] {
                std::vector<gram> at(n);
                std::vector<std::uint32_t> numbers(n);
                numbers.resize(cut_grams(padded.data(), n, *table, number_bits, at.data(), numbers.data()));
                EXPECT_EQ(at, expected);
                EXPECT_EQ(numbers, expected_numbers);
            });
        }
    }
}

TEST(gram_sketches, common_bits_are_counted_on_every_target) {
    std::mt19937_64 random(12);
    constexpr std::size_t words = 96, rows = 5;
    std::vector<std::uint64_t> bits(words * (rows + 1));
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i % 7 == 0 ? ~std::uint64_t{0} : random();
    const std::uint64_t* others[rows];
    for (std::size_t i = 0; i < rows; ++i) others[i] = bits.data() + words * (i + 1);
    on_every_target([&] {
        for (std::size_t count = 0; count <= rows; ++count) {
            std::vector<std::uint32_t> common(rows + 1, 77);
            common_bits(bits.data(), others, count, words, common.data());
            for (std::size_t i = 0; i < count; ++i) {
                std::uint32_t expected = 0;
                for (std::size_t w = 0; w < words; ++w)
                    expected += static_cast<std::uint32_t>(std::popcount(bits[w] & others[i][w]));
                EXPECT_EQ(common[i], expected);
            }
            EXPECT_EQ(common[count], 77u);
        }
    });
}

template <class Tested>
class prose_test : public on_place<Tested> {};
TYPED_TEST_SUITE(prose_test, tested_places, tested_place_names);

/// Texts and edited copies on both sides of the threshold, with lengths around the limits of scales.
TYPED_TEST(prose_test, finds_the_pairs_of_exhaustive) {
    std::mt19937_64 random(13);
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};
    const auto add = [&](const std::string& text) {
        bytes += text;
        offsets.push_back(bytes.size());
    };
    const bool is_small = tested_with().small_sizes;
    const std::vector<std::size_t> limits =
        is_small ? std::vector<std::size_t>{128, 512, 1024} : std::vector<std::size_t>{128, 512, 1024, 8192};
    for (const std::size_t limit : limits) {
        for (int i = 0; i < (is_small ? 30 : 60); ++i) {
            const std::string text = prose(random, limit - limit / 16 + random() % (limit / 8));
            add(text);
            if (i % 3 == 0) add(edited(random, text, random() % (text.size() / 7)));
            if (i % 10 == 0) add(text);
        }
    }
    const text_list texts{bytes, offsets};
    for (const auto unit : {edit_unit::byte, edit_unit::character}) {
        for (const decimal threshold : {decimal{1, 100}, decimal{5, 100}, decimal{2, 10}}) {
            duplicate_options options;
            options.threshold = threshold;
            options.unit = unit;
            for (const duplicate_scope& scope :
                 {duplicate_scope{}, duplicate_scope{40, true}, duplicate_scope{90, false}}) {
                options.method = duplicate_method::exhaustive;
                const auto truth = near_duplicates(texts, options, scope, TypeParam::ctx()).pairs;
                ASSERT_TRUE(!truth.empty() || scope.first_new != 0);
                options.method = duplicate_method::automatic;
                EXPECT_EQ(near_duplicates(texts, options, scope, TypeParam::ctx()).pairs, truth)
                    << threshold.value();
            }
        }
    }
}

}  // namespace
}  // namespace quern::gram_sketch_test
