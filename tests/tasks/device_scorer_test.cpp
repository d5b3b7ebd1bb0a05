// SPDX-License-Identifier: Apache-2.0
// Texts scored through a held model, as on a GPU: the scores of the CPU, to the bit, for texts that are cut anywhere.
#include "tasks/language_model/device_scorer.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "tasks/language_model/text_scorer.hpp"
#include "temporary_folder.hpp"

namespace quern::device_scorer_test {
namespace {

using testing::temporary_folder;

constexpr unsigned words = 60;

/// Random n-grams of w0, w1, …; `has_unknown`: and <unk>.
void write_arpa(const std::filesystem::path& path, unsigned order, bool has_unknown, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto value = [&] { return "-" + std::to_string(static_cast<double>(random() % 3000) / 1000); };
    std::vector<std::set<std::string>> ngrams(order);
    for (unsigned w = 0; w < words; ++w) ngrams[0].insert("w" + std::to_string(w));
    ngrams[0].insert("<s>");
    ngrams[0].insert("</s>");
    if (has_unknown) ngrams[0].insert("<unk>");
    for (unsigned n = 2; n <= order; ++n)
        for (int i = 0; i < 2500; ++i) {
            std::string ngram = random() % 9 == 0 ? "<s>" : "w" + std::to_string(random() % words);
            for (unsigned k = 1; k < n; ++k)
                ngram += k + 1 == n && random() % 9 == 0 ? " </s>" : " w" + std::to_string(random() % words);
            ngrams[n - 1].insert(ngram);
        }
    std::ofstream out(path);
    out << "\\data\\\n";
    for (unsigned n = 1; n <= order; ++n) out << "ngram " << n << "=" << ngrams[n - 1].size() << "\n";
    for (unsigned n = 1; n <= order; ++n) {
        out << "\\" << n << "-grams:\n";
        for (const std::string& ngram : ngrams[n - 1])
            out << value() << '\t' << ngram << (n < order ? '\t' + value() : "") << '\n';
    }
    out << "\\end\\\n";
}

/// Texts of lines: empty ones, of one word, of unknown words only, and one with more words than are scored at once.
std::vector<document> made_documents(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<document> made(40);
    for (std::size_t i = 0; i < made.size(); ++i) {
        const std::size_t size = i == 20 ? 80'000 : i % 4 == 0 ? i / 4 % 3 : random() % 300;
        std::string& text = made[i].text;
        for (std::size_t w = 0; w < size; ++w) {
            const bool is_unknown = i % 7 == 3 || random() % 15 == 0;
            text += (is_unknown ? "x" : "w") + std::to_string(random() % words);
            text += random() % 12 == 0 ? "\n" : " ";
        }
    }
    return made;
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
};

outcome outcome_of(const model_mixture& models, bool sentences) {
    outcome made;
    document_scorer scorer(models, {}, true, sentences);
    std::function<void(std::span<const double>)> on_word;
    if (models.models.size() > 1)
        on_word = [&](std::span<const double> of) {
            made.probabilities.insert(made.probabilities.end(), of.begin(), of.end());
        };
    document_scorer::series series(scorer, on_word);
    for (document& d : made_documents(4)) {
        series.add(d);
        d.text.assign(d.text.size(), '-');  // it is not read any more
    }
    for (const auto& each : series.finish())
        for (const text_score& s : each)
            made.scores.push_back({s.sentences, s.words, s.unknown, s.scored, s.logarithm});
    return made;
}

void check(const context& ctx, const chosen_device& chosen) {
    const temporary_folder folder;
    for (const unsigned order : {1U, 2U, 4U}) {
        for (const bool has_unknown : {true, false}) {
            write_arpa(folder / "a.arpa", order, has_unknown, order);
            write_arpa(folder / "b.arpa", 3, true, 7);
            perplexity_options options;
            options.model = folder / "a.arpa";
            for (const sentence_marks marks : {sentence_marks::yes, sentence_marks::no}) {
                options.marks = marks;
                options.interpolate.clear();
                if (order == 2) options.interpolate.push_back(folder / "b.arpa");
                model_mixture models = read_mixture(options, ctx);
                for (const bool sentences : {true, false}) {
                    models.device.reset();
                    const outcome expected = outcome_of(models, sentences);
                    std::vector<any_ngrams> ngrams;
                    for (const word_model& m : models.models) ngrams.emplace_back(&m.ngrams);
                    models.device = std::make_shared<device_scorer>(ngrams, ctx, chosen);
                    EXPECT_EQ(outcome_of(models, sentences), expected) << order << has_unknown << sentences;
                }
            }
        }
    }
}

TEST(device_scorer, scores_are_those_of_the_cpu) {
    check(context::cpu(2), {false, 0, "cpu", "requested", {}});
}

TEST(device_scorer, scores_are_those_of_the_cpu_on_a_gpu) {
    const context ctx = context::cuda();
    try {
        check(ctx, choose_device(ctx, "this test"));
    } catch (const device_error& e) {
        if (tested_with().cuda_required) FAIL() << e.what();
        GTEST_SKIP() << e.what();
    }
}

TEST(device_scorer, few_bytes_stay_on_the_cpu) {
    const temporary_folder folder;
    write_arpa(folder / "a.arpa", 2, true, 1);
    testing::write_file(folder / "texts" / "inner" / "b.txt", "12345");
    testing::write_file(folder / "texts" / "c.txt", "123");
    EXPECT_EQ(bytes_of_inputs({folder / "texts", folder / "texts" / "c.txt", "-", folder / "none"}), 11U);
    perplexity_options options;
    options.model = folder / "a.arpa";
    model_mixture models = read_mixture(options, context::cpu());
    EXPECT_FALSE(hold_on_device(models, 1000, context::best(), "scoring").cuda);
    EXPECT_EQ(models.device, nullptr);
}

}  // namespace
}  // namespace quern::device_scorer_test
