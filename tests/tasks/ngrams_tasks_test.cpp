// SPDX-License-Identifier: Apache-2.0
// Counts and models from tasks: the same bytes as those of one run, for any number of shards; and what is refused.
#include "quern/tasks/ngrams_tasks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dictionary.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"

namespace quern::ngrams_tasks_test {
namespace {

using ::testing::HasSubstr;
using testing::made_numbers;
using testing::write_file;

class ngrams_tasks : public testing::corpus_fixture {
  protected:
    /// Lines of TSV; some documents have no words, some ids repeat within a file, some sentences are equal.
    static std::string made_tsv(std::uint64_t seed, int documents) {
        made_numbers random(seed);
        std::string lines;
        for (int d = 0; d < documents; ++d) {
            lines += "d" + std::to_string(random(20) == 0 ? 1 : d) + "\t";
            const std::uint64_t words = d % 7 == 0 ? 0 : random(60);
            for (std::uint64_t w = 0; w < words; ++w)
                lines += "w" + std::to_string(random(1 + random(40))) + (random(9) == 0 ? ". " : " ");
            lines += "\n";
        }
        return lines;
    }
    /// Inputs of several sizes, so that tasks have some together and share others.
    ngrams_options made(unsigned order) const {
        ngrams_options options;
        options.inputs = {written(made_tsv(1, 300), "a.tsv"), written(made_tsv(2, 20), "b.tsv"),
                          written("", "empty.tsv"), written(made_tsv(3, 30), "c.tsv"),
                          written(made_tsv(4, 600), "d.tsv")};
        options.input_format = "tsv";
        options.max_errors.share = 1;
        options.ngrams.order = order;
        return options;
    }
    struct texts {
        std::string totals, arpa;
        std::uint64_t documents = 0, distinct = 0, rejected = 0;
        std::uint64_t words = 0, sentences = 0;
        std::vector<ngram_totals> of_lengths;
        std::string messages;
        bool operator==(const texts&) const = default;
    };
    texts made_by(ngrams_options options, bool wants_model, unsigned threads = 2) const {
        texts made;
        options.take_totals = [&](std::string_view part) { made.totals += part; };
        if (wants_model) options.take_arpa = [&](std::string_view part) { made.arpa += part; };
        context ctx = context_with(threads);
        ctx.on_log = [&](log_level, std::string_view message) { made.messages += message; };
        const ngrams_result result = ngrams(options, ctx, {});
        made.documents = result.documents;
        made.words = result.words;
        made.sentences = result.sentences;
        made.distinct = result.distinct;
        made.rejected = result.counts.rejected;
        made.of_lengths = result.totals;
        return made;
    }
    std::filesystem::path ran(const ngrams_options& options, unsigned shards, std::uint64_t memory = 0) {
        auto share = folder_ / ("job" + std::to_string(++jobs_));
        ngrams_options planned = options;
        planned.totals = folder_ / "totals";
        if (!options.ngrams.only) planned.arpa = folder_ / "arpa";
        const std::vector<job_task> tasks = plan_ngrams(planned, shards, context_with());
        const job_plan plan{{"ngrams", {}, folder_.path(), shards}, tasks};
        write_plan(plan, share);
        for (std::uint32_t i = static_cast<std::uint32_t>(plan.tasks.size()); i-- > 0;) {
            const task_file task = read_task(file_of_task(share, i));
            run_task(task, context_with(), [&](task_results& results) {
                run_ngrams_task(planned, task, results, context_with(1 + i % 2, memory));
            });
        }
        return share;
    }
    void expect_same(const ngrams_options& options, bool wants_model = true, std::uint64_t memory = 0) {
        const texts expected = made_by(options, wants_model);
        EXPECT_GT(expected.totals.size(), 100u);
        for (const unsigned shards : {1u, 2u, 3u, 5u, 17u}) {
            ngrams_options merged = options;
            merged.counts_of_job = ran(options, shards, memory);
            EXPECT_TRUE(made_by(merged, wants_model) == expected) << shards << " shards";
        }
    }

    int jobs_ = 0;
};

TEST_F(ngrams_tasks, give_the_counts_and_the_model_of_one_run) {
    for (const unsigned order : {1u, 2u, 5u}) expect_same(made(order));
}

TEST_F(ngrams_tasks, give_them_for_every_option) {
    ngrams_options only = made(3);
    only.ngrams.only = true;
    expect_same(only, false);
    for (const ngram_smoothing smoothing :
         {ngram_smoothing::jelinek_mercer, ngram_smoothing::dirichlet, ngram_smoothing::absolute}) {
        ngrams_options rare = made(3);
        rare.ngrams.min_count = 3;
        rare.ngrams.smoothing = smoothing;
        expect_same(rare);
    }
    for (const ngram_method method :
         {ngram_method::strings, ngram_method::dictionary, ngram_method::suffix_sigma}) {
        ngrams_options other = made(3);
        other.ngrams.method = method;
        expect_same(other);
    }
    ngrams_options words = made(2);
    words.titles = true;
    words.text = text_options{.min_length = 2, .stop_words = written("w1\nw2\n", "stop")};
    expect_same(words);
}

TEST_F(ngrams_tasks, give_them_with_a_dictionary) {
    write_file(folder_ / "known.tsv", "1\tw3 w4 w5 w7 w8 w9 w11 elsewhere\n");
    dictionary_options known;
    known.inputs = {folder_ / "known.tsv"};
    known.input_format = "tsv";
    known.file = folder_ / "known.dictionary";
    make_dictionary(known, context_with());
    ngrams_options options = made(3);
    options.dictionary = known.file;
    expect_same(options);
}

TEST_F(ngrams_tasks, give_models_of_sentences) {
    ngrams_options options = made(4);
    options.sentences = true;
    options.ngrams.smoothing = ngram_smoothing::kneser_ney;
    expect_same(options);
    options.prune = "0 0 1";
    options.limit_vocabulary = written("w1 w2 w3 w4 w5 w6 w7 w8 w9 w10", "vocabulary");
    expect_same(options);
    options.ngrams.smoothing = ngram_smoothing::absolute;
    options.prune.clear();
    options.limit_vocabulary.clear();
    options.ngrams.min_count = 2;
    expect_same(options);
}

TEST_F(ngrams_tasks, share_the_sentences_of_a_large_document) {
    made_numbers random(5);
    std::string text;
    while (text.size() < 3 * ngram_part::shared_text_bytes / 2) {
        for (std::uint64_t w = random(12); w-- > 0;)
            text += "w" + std::to_string(random(1 + random(900))) + (random(500) == 0 ? " <s> " : " ");
        text += "\n";
    }
    ngrams_options options;
    options.inputs = {written(text, "large.txt"), written("w1 w2\n\nw3 <unk> w1 w2\n", "small.txt")};
    options.tokenized = options.sentences = true;
    options.ngrams.order = 3;
    options.ngrams.smoothing = ngram_smoothing::kneser_ney;
    EXPECT_THAT(made_by(options, true).messages, HasSubstr("words of the texts were excluded"));
    expect_same(options);
    const auto share = ran(options, 3);
    std::vector<std::uintmax_t> sizes;
    for (std::uint32_t i = 0; i < 3; ++i) sizes.push_back(file_size(file_of_result(share, i, "ngrams-3")));
    EXPECT_LT(sizes[0], 2 * sizes[1]);
    EXPECT_LT(sizes[1], 2 * sizes[2]);
    EXPECT_LT(sizes[2], 2 * sizes[0]);
}

TEST_F(ngrams_tasks, spill_to_disk) {
    ngrams_options options = made(5);
    options.inputs.push_back(written(made_tsv(6, 20000), "e.tsv"));
    expect_same(options, true, std::uint64_t{24} << 20);
}

/// Lists of many blocks, whose ranges are merged at once; one history is longer than a block.
TEST_F(ngrams_tasks, merge_ranges_by_any_number_of_threads) {
    for (const bool shared : {false, true}) {
        made_numbers random(8);
        ngrams_options options;
        for (int f = 0; f < 7; ++f) {
            std::string lines, own = shared ? "w" : "f" + std::to_string(f) + "w";
            for (int d = 0; d < 40; ++d) {
                lines += "d" + std::to_string(d) + "\t";
                for (int w = 0; w < 150; ++w) {
                    lines += own + std::to_string(random(1 + random(6000))) + " ";
                    if (random(4) == 0) lines += shared ? "the " : own + "the ";
                }
                lines += "\n";
            }
            options.inputs.push_back(written(lines, "ranges" + std::to_string(f) + ".tsv"));
        }
        options.input_format = "tsv";
        options.ngrams.order = 3;
        for (const std::uint64_t min_count : {1, 2}) {  // with 2, the counts of histories
            options.ngrams.min_count = min_count;
            const texts expected = made_by(options, true);
            for (const unsigned shards : {1u, 2u, 3u, 7u}) {
                ngrams_options merged = options;
                merged.counts_of_job = ran(options, shards);
                for (const unsigned threads : {1u, 2u, 5u})
                    EXPECT_TRUE(made_by(merged, true, threads) == expected)
                        << shared << ": " << shards << " shards, " << threads << " threads";
            }
        }
    }
}

TEST_F(ngrams_tasks, refuse_what_they_cannot_do) {
    ngrams_options options = made(2);
    const auto refuses = [&](const ngrams_options& of, const std::string& why) {
        try {
            plan_ngrams(of, 2, context_with());
            ADD_FAILURE() << why << ": nothing was refused";
        } catch (const usage_error& e) {
            EXPECT_THAT(e.what(), HasSubstr(why));
        }
    };
    refuses(options, "rows of documents are not distributed");
    options.totals = folder_ / "totals";
    options.ids = id_rule::global;
    refuses(options, "expected --ids scoped or generate");
    options.ids = id_rule::scoped;
    options.inputs.emplace_back("-");
    refuses(options, "standard input cannot be cut into shards");
}

TEST_F(ngrams_tasks, refuse_another_corpus_or_damaged_results) {
    const ngrams_options options = made(2);
    ngrams_options merged = options;
    merged.counts_of_job = ran(options, 3);
    static_cast<void>(made_by(merged, true));
    const auto refuses = [&](const ngrams_options& of) { EXPECT_THROW(made_by(of, true), usage_error); };
    ngrams_options fewer = merged;
    fewer.inputs.pop_back();
    refuses(fewer);
    ngrams_options more = merged;
    more.inputs.push_back(written("d1\tw1\n", "more.tsv"));
    refuses(more);
    written("d1\tw1 w2\nd2\tw1\n", "b.tsv");
    refuses(merged);
    made(2);
    const auto file = file_of_result(merged.counts_of_job, 0, "ngrams-2");
    const std::string whole = testing::read_file(file);
    write_file(file, whole.substr(0, whole.size() - 1) + "\xff");
    EXPECT_THROW(made_by(merged, true), damaged_store);
    write_file(file, whole + "\xff\xff\xff\xff\x7f\x01");  // a position after the last word
    EXPECT_THROW(made_by(merged, true), damaged_store);
    write_file(file, whole);
    for (const std::string name : {"vocabulary", "ids", "words"}) {
        const auto words = file_of_result(merged.counts_of_job, 0, name);
        const std::string kept = testing::read_file(words);
        for (const std::string& damaged : {std::string(), kept.substr(0, kept.size() - 1), kept + "\x01",
                                           std::string(kept.size(), '\xff')}) {
            write_file(words, damaged);
            EXPECT_THROW(made_by(merged, true), error) << name << " of " << damaged.size() << " bytes";
        }
        write_file(words, kept);
    }
    static_cast<void>(made_by(merged, true));
    ngrams_options longer = merged;
    longer.ngrams.order = 3;
    EXPECT_THROW(made_by(longer, true), damaged_store);
}

}  // namespace
}  // namespace quern::ngrams_tasks_test
