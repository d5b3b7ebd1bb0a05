// SPDX-License-Identifier: Apache-2.0
// Models with Kneser-Ney smoothing of small generated texts, compared with the formulas: for any threads and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include "io/store/section.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/language_model.hpp"
#include "quern/tasks/ngrams.hpp"
#include "reference/kneser_ney_reference.hpp"
#include "temporary_folder.hpp"

namespace quern::kneser_ney_test {
namespace {

using reference::kneser_ney_model;
using ::testing::HasSubstr;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;
using sentences = std::vector<kneser_ney_model::ngram>;

/// Few words with skewed frequencies, so that n-grams repeat; some sentences are empty, some are the same.
sentences made_sentences(std::size_t size, unsigned words, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    sentences made;
    for (std::size_t s = 0; s < size; ++s) {
        if (s > 20 && s % 9 == 0) {
            made.push_back(made[random() % s]);
            continue;
        }
        kneser_ney_model::ngram& of = made.emplace_back();
        const std::size_t length = s % 13 == 0 ? 0 : random() % 15;
        for (std::size_t i = 0; i < length; ++i)
            of.push_back("w" + std::to_string(random() % (1 + random() % (1 + random() % words))));
    }
    return made;
}

std::string lines_of(const sentences& all) {
    std::string text;
    for (const auto& sentence : all) {
        for (std::size_t i = 0; i < sentence.size(); ++i) text += (i == 0 ? "" : " ") + sentence[i];
        text += '\n';
    }
    return text;
}

/// The logarithms of an ARPA file: words, probability and back-off weight.
std::map<kneser_ney_model::ngram, std::pair<double, double>> entries_of(const std::string& arpa) {
    std::map<kneser_ney_model::ngram, std::pair<double, double>> made;
    std::istringstream lines(arpa);
    std::uint64_t announced = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("ngram ")) announced += std::stoull(line.substr(line.find('=') + 1));
        const std::size_t tab = line.find('\t'), second = line.find('\t', tab + 1);
        if (tab == std::string::npos) continue;
        std::istringstream words(line.substr(tab + 1, second - tab - 1));
        const kneser_ney_model::ngram g{std::istream_iterator<std::string>(words), {}};
        EXPECT_TRUE(
            made.emplace(g, std::pair(std::stod(line),
                                      second == std::string::npos ? 0 : std::stod(line.substr(second + 1))))
                .second);
    }
    EXPECT_EQ(made.size(), announced);
    return made;
}

class kneser_ney : public ::testing::Test {
  protected:
    temporary_folder folder_;
    std::vector<std::string> warnings_;

    context context_with(unsigned threads, std::uint64_t memory = 0) {
        context ctx = context::cpu(threads);
        ctx.scratch = folder_.path();
        ctx.memory_bytes = memory;
        ctx.on_log = [this](log_level level, std::string_view text) {
            if (level == log_level::warning) warnings_.emplace_back(text);
        };
        return ctx;
    }
    ngrams_options of(const std::string& text, unsigned order) {
        write_file(folder_ / "text.txt", text);
        ngrams_options options;
        options.inputs = {folder_ / "text.txt"};
        options.tokenized = options.sentences = options.replace = true;
        options.ngrams.order = order;
        options.ngrams.smoothing = ngram_smoothing::kneser_ney;
        options.arpa = folder_ / "model";
        return options;
    }
    std::string model_of(const ngrams_options& options, const context& ctx) {
        ngrams(options, ctx, {});
        return read_file(options.arpa);
    }
    static void expect_equal(const std::string& arpa, const kneser_ney_model& expected) {
        const auto found = entries_of(arpa);
        ASSERT_EQ(found.size(), expected.entries.size());
        for (const auto& [g, e] : expected.entries) {
            const auto at = found.find(g);
            ASSERT_NE(at, found.end()) << ::testing::PrintToString(g);
            const double probability = e.probability == 0 ? -99 : std::log10(e.probability);
            EXPECT_NEAR(at->second.first, probability, 2e-6) << ::testing::PrintToString(g);
            EXPECT_NEAR(at->second.second, std::log10(e.back_off), 2e-6) << ::testing::PrintToString(g);
        }
    }
};

TEST_F(kneser_ney, models_are_what_the_formulas_say) {
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        for (const unsigned order : {1U, 2U, 3U, 5U}) {
            const sentences all = made_sentences(seed * 150, static_cast<unsigned>(10 * seed * seed), seed);
            const ngrams_options options = of(lines_of(all), order);
            expect_equal(model_of(options, context_with(2)),
                         kneser_ney_model(all, order, {std::vector<std::uint64_t>(order), {}}));
        }
    }
}

TEST_F(kneser_ney, pruning_and_limited_vocabularies) {
    const sentences all = made_sentences(600, 60, 5);
    std::set<std::string> allowed;
    for (int w = 0; w < 60; w += 1 + w % 3) allowed.insert("w" + std::to_string(w));
    std::string words;
    for (const std::string& word : allowed) words += word + "\n ";
    write_file(folder_ / "words", words);
    ngrams_options options = of(lines_of(all), 4);
    for (const bool limited : {false, true}) {
        for (const auto& [prune, thresholds] :
             std::vector<std::pair<std::string, std::vector<std::uint64_t>>>{
                 {"0 0 1", {0, 0, 1, 1}},
                 {"0,1,1,3", {0, 1, 1, 3}},
                 {"0 1000000", {0, 1000000, 1000000, 1000000}},
                 {"", {0, 0, 0, 0}}}) {
            options.prune = prune;
            options.limit_vocabulary = limited ? folder_ / "words" : "";
            expect_equal(model_of(options, context_with(2)),
                         kneser_ney_model(all, 4, {thresholds, limited ? allowed : std::set<std::string>()}));
        }
    }
}

TEST_F(kneser_ney, small_texts) {
    for (const sentences& all : std::vector<sentences>{{{"one"}},
                                                       {{}},
                                                       {{}, {}, {}},
                                                       {{"a", "b", "c", "d"}},
                                                       {{"a", "a", "a"}, {"a"}},
                                                       {{"a"}, {}, {"b", "a"}}}) {
        for (const unsigned order : {1U, 2U, 3U}) {
            warnings_.clear();
            const ngrams_options options = of(lines_of(all), order);
            const kneser_ney_model expected(all, order, {std::vector<std::uint64_t>(order), {}});
            expect_equal(model_of(options, context_with(1)), expected);
            EXPECT_EQ(warnings_.size(), expected.fallbacks.size());
            for (const std::string& warning : warnings_)
                EXPECT_THAT(warning, HasSubstr("0.5, 1 and 1.5 are used"));
        }
    }
    expect_equal(model_of(of("", 2), context_with(1)), kneser_ney_model({}, 2, {{0, 0}, {}}));
}

TEST_F(kneser_ney, the_same_bytes_for_any_threads_and_memory) {
    const sentences all = made_sentences(20000, 9000, 6);
    ngrams_options options = of("", 4);
    std::string documents;
    for (std::size_t begin = 0; begin < all.size(); begin += 100) {
        std::string text;
        for (const char c : lines_of({all.begin() + static_cast<std::ptrdiff_t>(begin),
                                      all.begin() + static_cast<std::ptrdiff_t>(begin + 100)}))
            text += c == '\n' ? std::string("\\n") : std::string(1, c);
        documents += "{\"id\":\"" + std::to_string(begin) + "\",\"text\":\"" + text + "\"}\n";
    }
    write_file(folder_ / "documents.jsonl", documents);
    options.inputs = {folder_ / "documents.jsonl"};
    options.prune = "0 0 1";
    const std::string text = model_of(options, context_with(1));
    for (const auto& [threads, memory] :
         std::vector<std::pair<unsigned, std::uint64_t>>{{2, 0}, {3, 0}, {1, 12 << 20}, {2, 24 << 20}})
        EXPECT_EQ(model_of(options, context_with(threads, memory)), text) << threads << " " << memory;
}

TEST_F(kneser_ney, the_marks_in_a_text_are_excluded) {
    const ngrams_options options = of("a <s> b\n</s> a <unk>\n", 2);
    expect_equal(model_of(options, context_with(1)), kneser_ney_model({{"a", "b"}, {"a"}}, 2, {{0, 0}, {}}));
    EXPECT_THAT(warnings_, ::testing::Contains(HasSubstr("3 words of the texts were excluded")));
}

TEST_F(kneser_ney, other_smoothing_of_sentences_is_proper) {
    const sentences all = made_sentences(300, 30, 8);
    for (const auto smoothing :
         {ngram_smoothing::absolute, ngram_smoothing::jelinek_mercer, ngram_smoothing::dirichlet}) {
        for (const std::uint64_t least : {1, 3}) {
            ngrams_options options = of(lines_of(all), 3);
            options.ngrams.smoothing = smoothing;
            options.ngrams.min_count = least;
            const auto found = entries_of(model_of(options, context_with(2)));
            // After a, b with back-off weights of one, two or no words: the probabilities of all words sum to 1.
            for (const auto& [g, e] : found) {
                if (g.size() != 1 || g[0] == "</s>") continue;
                double sum = 0;
                for (const auto& [w, of_word] : found) {
                    if (w.size() != 1 || w[0] == "<s>") continue;
                    const auto pair = found.find({g[0], w[0]});
                    sum += std::pow(10, pair != found.end() ? pair->second.first : e.second + of_word.first);
                }
                EXPECT_NEAR(sum, 1, 1e-5) << g[0];
            }
        }
    }
}

TEST_F(kneser_ney, refuses_what_it_cannot_do) {
    const auto refusal = [&](const auto& change) {
        ngrams_options options = of("a b\n", 2);
        change(options);
        try {
            ngrams(options, context_with(1), {});
        } catch (const usage_error& e) {
            return std::string(e.what());
        }
        return std::string("nothing");
    };
    EXPECT_THAT(refusal([](ngrams_options& o) { o.sentences = false; }), HasSubstr("needs sentences"));
    EXPECT_THAT(refusal([](ngrams_options& o) { o.ngrams.min_count = 2; }),
                HasSubstr("exclude rare ones by pruning"));
    EXPECT_THAT(refusal([](ngrams_options& o) { o.arpa.clear(); }), HasSubstr("not the rows of documents"));
    EXPECT_THAT(refusal([](ngrams_options& o) { o.prune = "1"; }), HasSubstr("expected 0 for single words"));
    EXPECT_THAT(refusal([](ngrams_options& o) { o.prune = "0 x"; }), HasSubstr("expected whole numbers"));
    EXPECT_THAT(refusal([](ngrams_options& o) { o.prune = "0 0 1"; }),
                HasSubstr("at most as many numbers as the order, 2"));
    EXPECT_THAT(refusal([](ngrams_options& o) {
                    o.ngrams.order = 3;
                    o.prune = "0 2 1";
                }),
                HasSubstr("do not fall"));
    EXPECT_THAT(refusal([](ngrams_options& o) { o.limit_vocabulary = "/nowhere/words"; }),
                HasSubstr("no such file"));
    EXPECT_THAT(refusal([](ngrams_options& o) {
                    o.ngrams.smoothing = ngram_smoothing::absolute;
                    o.prune = "0 1";
                }),
                HasSubstr("need smoothing by kneser-ney"));
}

TEST(compact_model_task, of_another_version_says_what_to_do) {
    const temporary_folder folder;
    const auto refusal_of_version = [&](std::uint32_t version) {
        std::string head(128, '\0');
        head.replace(0, 8, "QUERNLM\n");
        std::memcpy(head.data() + 8, &version, sizeof version);
        io::section_writer file(folder / "model");
        file.append(head);
        file.finish();
        try {
            read_compact_model_info(folder / "model");
        } catch (const damaged_store& e) {
            return std::string(e.what());
        }
        return std::string("none");
    };
    EXPECT_THAT(refusal_of_version(language_model_format_version), HasSubstr("has parts of wrong length"));
    EXPECT_THAT(refusal_of_version(language_model_format_version + 1), HasSubstr("install a newer Quern"));
    EXPECT_THAT(
        refusal_of_version(1),
        HasSubstr("has format version 1, but this program reads version 2; a Quern before 1.0 made it"));
}

}  // namespace
}  // namespace quern::kneser_ney_test
