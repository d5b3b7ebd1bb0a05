// SPDX-License-Identifier: Apache-2.0
// A long document in pieces has the words and passages of the whole.
#include "tasks/words/long_document.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/threads.hpp"
#include "tasks/words/corpus_words.hpp"
#include "text/text_cuts.hpp"

namespace quern::long_document_test {
namespace {

using numbers = std::vector<std::uint32_t>;

/// The document as one piece, with numbers by first appearance.
numbers whole(const document& d, const space_params& q, const text_options& options) {
    document_words words(options);
    const bool keeps_gaps = q.gaps == gap_policy::keep;
    const text::token_list& list =
        words.of(d, boundaries_of(d, q.window_end),
                 keeps_gaps ? text::dropped_words::keep_place : text::dropped_words::excluded);
    std::map<std::string, std::uint32_t, std::less<>> number_of;
    numbers out;
    std::size_t at = 0;
    const auto add_until = [&](std::size_t end) {
        for (; at < end; ++at) {
            const std::string word(list.word(list.tokens[at]));
            const auto next = static_cast<std::uint32_t>(number_of.size());
            out.push_back(word.empty() ? unknown_word : number_of.try_emplace(word, next).first->second);
        }
        out.push_back(passage_end);
    };
    for (const std::uint32_t end : ends_of(list, q.window_end)) add_until(end);
    if (at < list.tokens.size()) add_until(list.tokens.size());
    return out;
}

numbers in_pieces(const document& d, const space_params& q, const text_options& options, std::size_t bytes,
                  unsigned threads) {
    context ctx;
    ctx.threads = threads;
    scratch_folder scratch(ctx);
    corpus_words into(scratch, 1 << 24);
    document_words words(options);
    numbers out;
    std::uint64_t occurrences = 0;
    run_parallel(ctx, [&] {
        occurrences = long_document_words(q, options.tokens, words, into.distinct, ctx, bytes).add(d, out);
    });
    EXPECT_EQ(occurrences, std::ranges::count_if(out, [](std::uint32_t n) { return n < passage_end; }));
    return out;
}

std::string hostile(std::mt19937& random) {
    static constexpr std::string_view parts[] = {"a",
                                                 "B",
                                                 "can",
                                                 "the",
                                                 "of",
                                                 " ",
                                                 " ",
                                                 " ",
                                                 " ",
                                                 "  ",
                                                 ".",
                                                 ". ",
                                                 "? ",
                                                 "\n",
                                                 "\n",
                                                 "\r\n",
                                                 "\n\n",
                                                 "\n \t\n",
                                                 "\xE2\x80\xA9",
                                                 "7",
                                                 "(",
                                                 "'",
                                                 "\xC3\xA4",
                                                 "-",
                                                 "\xCC\x81",
                                                 "\t",
                                                 "\xFF",
                                                 "\xE6\xB0\xB4",
                                                 "\xE3\x80\x82",
                                                 std::string_view("\0", 1),
                                                 "\xC2\x85",
                                                 "\xE0\xB8\x99"};
    std::string text;
    for (std::size_t length = random() % 120; length != 0; --length)
        text += parts[random() % std::size(parts)];
    return text;
}

TEST(long_document, pieces_have_the_words_and_passages_of_the_whole) {
    std::mt19937 random(11);
    for (int round = 0; round < 400; ++round) {
        document d;
        d.text = hostile(random);
        d.verbatim = random() % 8 == 0;
        d.line_paragraphs = random() % 3 == 0;
        space_params q;
        q.window_end = random() % 2 == 0 ? window_limit::paragraph : window_limit::sentence;
        q.gaps = random() % 2 == 0 ? gap_policy::keep : gap_policy::close;
        text_options options;
        options.tokens = static_cast<token_rule>(random() % 4);
        options.min_length = 1 + random() % 2;
        if (random() % 2 == 0) options.stop_words = "en";
        const numbers expected = whole(d, q, options);
        for (const std::size_t bytes : {1, 2, 3, 7, 31, 32, 33, 255})
            ASSERT_EQ(in_pieces(d, q, options, bytes, 1 + random() % 3), expected)
                << bytes << " of " << d.text;
    }
}

TEST(long_document, is_cut_within_paragraphs_without_an_end) {
    space_params q;
    text_options options;
    document d;
    for (int i = 0; i < 300; ++i) d.text += "\xE6\xB0\xB4\xE3\x80\x82\n";  // Chinese lines
    const numbers expected = whole(d, q, options);
    EXPECT_EQ(std::ranges::count(expected, passage_end), 1);
    EXPECT_EQ(in_pieces(d, q, options, 64, 3), expected);
    EXPECT_LT(text::cut_within_paragraph(d.text, 0, 64), 65U);
    d.text.clear();
    for (int i = 0; i < 300; ++i) d.text += "corn and salt ";
    EXPECT_EQ(in_pieces(d, q, options, 64, 3), whole(d, q, options));
    EXPECT_LT(text::cut_within_paragraph(d.text, 0, 64), 65U);
}

}  // namespace
}  // namespace quern::long_document_test
