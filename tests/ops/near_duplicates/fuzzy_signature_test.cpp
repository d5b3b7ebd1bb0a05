// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/papers/signatures/fuzzy_signature.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "on_every_target.hpp"
#include "quern/base/error.hpp"
#include "reference/fuzzy_signature_reference.hpp"
#include "signature_texts.hpp"

namespace quern::fuzzy_signature_test {

void PrintTo(const fuzzy_signature& s, std::ostream* out) {
    *out << s.block_size << " " << s.letters << " " << s.letters_at_double;
}

namespace {

// By hand. FNV-1a of "a" is af63dc4c8601ec8c, of "b" af63df4c8601f1a5, of "foobar" 85944171f73967e8 (its authors'
// test vectors): letters 0, 41 and 25. The rolling hashes of "a", "b" and "ab": 9 · 97 = 11 0110 1001b, 9 · 98, and
// 195 + 1268 + 3138 = 1 0001 1111 1001b: cuts for B = 2 after "a" and "ab", not after "b".
TEST(fuzzy_signature, known_vectors) {
    EXPECT_EQ(signature_of("", 100), (fuzzy_signature{1, "", ""}));
    EXPECT_EQ(signature_of("a", 100), (fuzzy_signature{1, "A", "A"}));
    EXPECT_EQ(signature_of("b", 100), (fuzzy_signature{1, "p", ""}));
    EXPECT_EQ(signature_of("ab", 100), (fuzzy_signature{1, "Ap", "Ap"}));
    EXPECT_EQ(signature_of("ab", 1), (fuzzy_signature{4, "", ""}));
}

// The hash of seven bytes 0xff ends in 1101…; seven zeros make 0: a text of zeros has a cut at B = 1 only.
TEST(fuzzy_signature, a_text_of_zeros_has_no_cuts_but_for_every_byte) {
    const std::string zeros(101, '\0');
    EXPECT_EQ(signature_of(zeros, 101).letters, std::string(101, reference::letters_at(zeros, 1)[0]));
    EXPECT_EQ(signature_of(zeros, 101).block_size, 1u);
    EXPECT_EQ(signature_of(zeros, 100), (fuzzy_signature{2, "", ""}));
}

TEST(fuzzy_signature, matches_reference_on_hostile_texts_with_every_instruction_set) {
    for (const std::string& text : hostile_texts())
        for (const unsigned length : {1u, 2u, 63u, 64u, 100u, 1000u}) {
            const fuzzy_signature expected = reference::signature_of(text, length);
            on_every_target([&] {
                EXPECT_EQ(signature_of(text, length), expected)
                    << text.size() << " bytes, at most " << length << " letters";
            });
        }
}

TEST(fuzzy_signature, matches_reference_on_any_text) {
    EXPECT_TRUE(rc::check([] {
        const auto size = *rc::gen::inRange<std::size_t>(0, 3000);
        const auto letters = *rc::gen::inRange(1u, 257u);
        const auto length = *rc::gen::inRange(1u, 200u);
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        const std::string text = random_text(random, size, letters);
        RC_ASSERT(signature_of(text, length) == reference::signature_of(text, length));
    }));
}

TEST(fuzzy_signature, has_the_least_block_size_that_fits) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 100; ++i) {
        const std::string text = random_text(random, random() % 20'000, 26);
        const fuzzy_signature s = signature_of(text, 100);
        EXPECT_LE(s.letters.size(), 100u);
        if (s.block_size == 1) continue;
        EXPECT_GT(reference::letters_at(text, s.block_size / 2).size(), 100u);
    }
}

TEST(fuzzy_signature, lists_hold_the_signatures_of_their_texts) {
    const auto letters_of = [](std::span<const std::uint8_t> numbers) {
        std::string letters;
        for (const std::uint8_t n : numbers)
            letters += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[n];
        return letters;
    };
    std::vector<std::string> texts = hostile_texts();
    for (std::string& text : families(1, 1000, 4000)) texts.push_back(std::move(text));
    for (int empty = 0; empty < 3000; ++empty) texts.emplace_back();
    const texts_to_sign listed(texts);
    for (const unsigned threads : {1u, 5u}) {
        cpu_place place(context::cpu(threads));
        const near_duplicates_detail::signature_list list(place, listed.list(), 100);
        const auto view = list.view();
        ASSERT_EQ(view.texts(), texts.size());
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const fuzzy_signature expected = signature_of(texts[i], 100);
            ASSERT_EQ(std::uint64_t{1} << view.levels[i], expected.block_size);
            ASSERT_EQ(letters_of(view.string(2 * i)), expected.letters);
            ASSERT_EQ(letters_of(view.string(2 * i + 1)), expected.letters_at_double);
        }
    }
    cpu_place place(context::cpu(2));
    EXPECT_EQ(near_duplicates_detail::signature_list(place, {}, 100).view().texts(), 0u);
    EXPECT_EQ(near_duplicates_detail::signature_list(place, texts_to_sign({}).list(), 100).view().texts(),
              0u);
}

TEST(fuzzy_signature, refuses_lengths_out_of_range) {
    for (const unsigned length : {0u, 1001u})
        EXPECT_THAT([&] { signature_of("text", length); },
                    ::testing::ThrowsMessage<usage_error>("signature_length: invalid value '" +
                                                          std::to_string(length) +
                                                          "' (expected a whole number from 1 to 1000)"));
}

}  // namespace
}  // namespace quern::fuzzy_signature_test
