// SPDX-License-Identifier: Apache-2.0
// The ASCII rules and their byte masks against loops over bytes, for every instruction set.
#include "text/plain_words.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <random>

#include "text/break_rules.hpp"
#include "text/byte_masks.hpp"

namespace quern::text::plain_words_test {
namespace {

token_list expected(std::string_view text, bool digits) {
    token_list list;
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    const auto member = [&](char c) {
        return (lower(c) >= 'a' && lower(c) <= 'z') || (digits && c >= '0' && c <= '9');
    };
    for (std::uint32_t i = 0; i < text.size(); ++i) {
        if (!member(text[i])) continue;
        token t{static_cast<std::uint32_t>(list.words.size()), 0, i, 0};
        for (; i < text.size() && member(text[i]); ++i) list.words += lower(text[i]);
        t.word_end = static_cast<std::uint32_t>(list.words.size());
        t.source_end = i;
        list.tokens.push_back(t);
    }
    return list;
}

void expect_same(std::string_view text) {
    for (const bool digits : {false, true}) {
        token_list found;
        find_plain_words(text, digits, found);
        const token_list truth = expected(text, digits);
        ASSERT_EQ(found.words, truth.words);
        ASSERT_EQ(found.tokens.size(), truth.tokens.size());
        for (std::size_t i = 0; i < truth.tokens.size(); ++i) {
            ASSERT_EQ(found.word(found.tokens[i]), truth.word(truth.tokens[i]));
            ASSERT_EQ(found.tokens[i].source_begin, truth.tokens[i].source_begin);
            ASSERT_EQ(found.tokens[i].source_end, truth.tokens[i].source_end);
        }
    }
}

/// Runs `body` once for each instruction set that this processor and build have.
template <class Body>
void on_every_target(Body&& body) {
    const auto all = hwy::SupportedTargets();
    for (auto rest = all; rest != 0; rest &= rest - 1) {
        const auto target = rest & ~(rest - 1);
        SCOPED_TRACE(hwy::TargetName(target));
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        body();
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(byte_masks, say_of_every_byte_what_it_is) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
    on_every_target([&] {
        byte_masks masks[4];
        char lowered[256];
        classify_bytes(bytes.data(), 4, lowered, masks);
        for (int i = 0; i < 256; ++i) {
            const char c = bytes[static_cast<std::size_t>(i)];
            const auto bit = [&](std::uint64_t byte_masks::*kind) {
                return (masks[i / 64].*kind >> i % 64 & 1) != 0;
            };
            const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
            const bool beyond = static_cast<unsigned char>(c) >= 0x80;
            const auto kind = break_rules::class_of(c);
            EXPECT_EQ(bit(&byte_masks::letters), upper || lower) << i;
            EXPECT_EQ(bit(&byte_masks::digits), c >= '0' && c <= '9') << i;
            EXPECT_EQ(bit(&byte_masks::joiners), kind == break_rules::ascii_class::joiner) << i;
            EXPECT_EQ(bit(&byte_masks::others), beyond || kind == break_rules::ascii_class::special) << i;
            EXPECT_EQ(lowered[i], upper ? static_cast<char>(c + 32) : c) << i;
        }
    });
}

TEST(plain_words, match_a_loop_over_bytes) {
    on_every_target([] {
        std::mt19937 random(1);
        const std::string_view letters = "aZz09 .-\xC3\xA9'AM";
        for (const std::size_t size :
             {0, 1, 31, 32, 33, 63, 64, 65, 127, 255, 257, 4095, 4096, 4097, 8192, 20000}) {
            for (int round = 0; round < 20; ++round) {
                std::string text;
                // From text of single characters to text of runs longer than a chunk.
                const std::size_t longest = std::size_t{1} << (round % 14);
                while (text.size() < size) {
                    text.append(1 + random() % longest, letters[random() % letters.size()]);
                }
                text.resize(size);
                expect_same(text);
            }
        }
    });
}

TEST(plain_words, append_to_a_list) {
    token_list list;
    find_plain_words("One", false, list);
    find_plain_words("Two", false, list);
    EXPECT_EQ(list.words, "onetwo");
    ASSERT_EQ(list.tokens.size(), 2U);
    EXPECT_EQ(list.word(list.tokens[1]), "two");
}

}  // namespace
}  // namespace quern::text::plain_words_test
