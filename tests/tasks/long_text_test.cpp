// SPDX-License-Identifier: Apache-2.0
// Long documents scored in pieces of any size: the scores of the whole, to the bit.
#include "tasks/language_model/long_text.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/threads.hpp"
#include "temporary_folder.hpp"

namespace quern::long_text_test {
namespace {

using testing::temporary_folder;

/// Random n-grams of the words below, with the marks; `has_unknown`: and <unk>.
void write_arpa(const std::filesystem::path& path, unsigned order, bool has_unknown) {
    std::mt19937_64 random(order);
    const std::string_view words[] = {"a", "b", "the", "can", "7", "\xC3\xA4", "cat"};
    const auto value = [&] { return "-" + std::to_string(static_cast<double>(random() % 3000) / 1000); };
    std::ofstream out(path);
    std::vector<std::vector<std::string>> ngrams(order);
    for (const std::string_view word : words) ngrams[0].emplace_back(word);
    for (unsigned n = 2; n <= order; ++n)
        for (const std::string& before : ngrams[n - 2])
            for (const std::string_view word : words)
                if (random() % 2 == 0) ngrams[n - 1].push_back(before + " " + std::string(word));
    if (order > 1)
        for (const std::string_view word : words) {
            ngrams[1].push_back("<s> " + std::string(word));
            ngrams[1].push_back(std::string(word) + " </s>");
        }
    ngrams[0].insert(ngrams[0].end(), {"<s>", "</s>"});
    if (has_unknown) ngrams[0].emplace_back("<unk>");
    out << "\\data\\\n";
    for (unsigned n = 1; n <= order; ++n) out << "ngram " << n << "=" << ngrams[n - 1].size() << "\n";
    for (unsigned n = 1; n <= order; ++n) {
        out << "\\" << n << "-grams:\n";
        for (const std::string& ngram : ngrams[n - 1])
            out << value() << '\t' << ngram << (n < order ? '\t' + value() : "") << '\n';
    }
    out << "\\end\\\n";
}

struct values {
    std::uint64_t sentences, words, unknown, scored;
    double logarithm;
    bool operator==(const values&) const = default;
};
struct outcome {
    std::vector<values> scores;
    std::vector<double> probabilities;
    bool operator==(const outcome&) const = default;

    void add(const text_score& s) {
        scores.push_back({s.sentences, s.words, s.unknown, s.scored, s.logarithm});
    }
    std::function<void(std::span<const double>)> word_sink(bool wanted) {
        if (!wanted) return {};
        return [this](std::span<const double> of) {
            probabilities.insert(probabilities.end(), of.begin(), of.end());
        };
    }
};

/// Words, unknown ones too, between blanks and sentence ends; `lines`: with line feeds.
document made_document(std::mt19937_64& random, bool lines) {
    const std::string_view parts[] = {"a",        "b", "the", "can", "cat",  "zebra",    "7",
                                      "\xC3\xA4", " ", " ",   " ",   " ",    " ",        "  ",
                                      ". ",       ".", "? ",  "\t",  "(b) ", " the cat "};
    document d;
    d.id = "x";
    for (std::size_t length = random() % 400; length > 0; --length)
        d.text += lines && random() % 12 == 0 ? (random() % 3 == 0 ? "\n\n" : "\n")
                                              : parts[random() % std::size(parts)];
    d.verbatim = random() % 8 == 0;
    return d;
}

void check(const model_mixture& models, const text_options& text, std::mt19937_64& random,
           const context& ctx) {
    const bool tokenized = random() % 2 == 0, sentences = random() % 2 == 0, has_sink = random() % 2 == 0;
    const document d = made_document(random, random() % 4 != 0);
    document_scorer scorer(models, text, tokenized, sentences);
    outcome whole, pieces;
    document_scorer::series series(scorer, whole.word_sink(has_sink));
    series.add(d);
    const auto scores = series.finish();
    for (const text_score& s : scores.front()) whole.add(s);
    const std::size_t piece_bytes = 1 + random() % 60;
    document_scorer::long_text long_text(scorer, ctx, piece_bytes);
    run_parallel(ctx, [&] {
        long_text.score(
            d, [&](const text_score& s) { pieces.add(s); }, pieces.word_sink(has_sink));
    });
    EXPECT_EQ(pieces, whole) << "tokenized " << tokenized << ", sentences " << sentences << ", marks "
                             << models.marks << ", verbatim " << d.verbatim << ", " << piece_bytes
                             << " bytes of '" << d.text << "'";
    EXPECT_LE(long_text.largest_piece(d), d.text.size());
}

TEST(long_text, scores_are_those_of_the_whole) {
    const temporary_folder folder;
    write_arpa(folder / "b.arpa", 3, true);
    std::mt19937_64 random(1);
    const context one = context::cpu(1), three = context::cpu(3);
    for (const unsigned order : {1U, 2U, 5U}) {
        for (const bool has_unknown : {true, false}) {
            write_arpa(folder / "a.arpa", order, has_unknown);
            for (int round = 0; round < 4; ++round) {
                perplexity_options options;
                options.model = folder / "a.arpa";
                if (round % 2 == 1) options.interpolate.push_back(folder / "b.arpa");
                options.marks = round < 2 ? sentence_marks::yes : sentence_marks::no;
                const model_mixture models = read_mixture(options, one);
                for (int i = 0; i < 60; ++i) {
                    text_options text;
                    if (i % 4 == 1) text.min_length = 2;
                    if (i % 4 == 2)
                        text.tokens = static_cast<token_rule>(random() % std::size(token_rule_names));
                    check(models, text, random, i % 2 == 0 ? one : three);
                }
            }
        }
    }
}

}  // namespace
}  // namespace quern::long_text_test
