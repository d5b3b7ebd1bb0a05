// SPDX-License-Identifier: Apache-2.0
// A word space from tasks: the same files as those of one run, for any number of shards; and what is refused.
#include "quern/tasks/words_tasks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"

namespace quern::words_tasks_test {
namespace {

using testing::files_of;
using ::testing::HasSubstr;
using testing::made_numbers;
using testing::write_file;

class words_tasks : public testing::corpus_fixture {
  protected:
    /// Texts of many words with skewed frequencies, some of which occur together.
    words_options made(std::uint64_t documents = 400) const {
        made_numbers random(3);
        std::string lines;
        for (std::uint64_t d = 0; d < documents; ++d) {
            lines += std::to_string(d) + "\t";
            const std::uint64_t topic = random(20);
            for (int w = 0; w < 120; ++w)
                lines += random(3) == 0 ? "t" + std::to_string(topic) + "x" + std::to_string(random(15)) + " "
                                        : "w" + std::to_string(random(1 + random(1 + random(900)))) + " ";
            lines += "\n";
        }
        words_options options;
        options.inputs = {written(lines, "corpus.tsv")};
        options.input_format = "tsv";
        options.params.top = 5;
        return options;
    }
    std::map<std::string, std::string> made_by(words_options options, const std::string& name,
                                               const std::filesystem::path& job = {}) const {
        options.space = folder_ / name;
        if (job.empty())
            words(options, context_with());
        else
            words_of_job(options, job, context_with());
        return files_of(options.space);
    }
    std::filesystem::path ran(words_options options, unsigned shards) {
        const auto share = folder_ / ("job" + std::to_string(++jobs_));
        options.space = folder_ / "planned";
        write_plan({{"words", {}, folder_.path(), shards}, plan_words(options, shards, context_with())},
                   share);
        const job_plan plan = read_plan(share);
        EXPECT_EQ(plan.tasks.size(), 1 + shards);
        for (std::uint32_t i = 0; i < plan.tasks.size(); ++i) {
            const std::uint32_t number = i == 0 ? 0 : static_cast<std::uint32_t>(plan.tasks.size()) - i;
            const task_file task = read_task(file_of_task(share, number));
            run_task(task, context_with(), [&](task_results& results) {
                run_words_task(options, task, results, context_with(1 + number % 2));
            });
        }
        EXPECT_FALSE(std::filesystem::exists(options.space));
        return share;
    }
    void expect_same(const words_options& options) {
        const auto expected = made_by(options, "whole" + std::to_string(++jobs_));
        for (const unsigned shards : {1u, 2u, 3u, 5u}) {
            const auto job = ran(options, shards);
            EXPECT_TRUE(made_by(options, "merged" + std::to_string(++jobs_), job) == expected) << shards;
        }
    }

    int jobs_ = 0;
};

TEST_F(words_tasks, make_the_space_of_one_run) {
    expect_same(made());
    words_options other = made();
    other.params.measure = word_measure::cosine;
    other.params.counting.relation = word_relation::position;
    other.params.columns = 400;
    other.params.min_count = 1;
    expect_same(other);
}

TEST_F(words_tasks, make_it_by_measures_without_bounds) {
    words_options options = made(60);
    for (const word_measure measure :
         {word_measure::jaccard, word_measure::weeds, word_measure::jensen_shannon, word_measure::skew}) {
        options.params.measure = measure;
        expect_same(options);
    }
}

TEST_F(words_tasks, make_it_for_few_words_and_for_triples) {
    words_options few = made(30);
    few.params.top = 300;
    expect_same(few);
    words_options triples;
    triples.inputs = {
        written("eat\tobj\tbread\t4\nbake\tobj\tbread\t9\nride\tobj\thorse\t9\nride\tobj\tcow\n"
                "lead\tobj\thorse\t5\nlead\tsubj\tman\n",
                "parsed.tsv")};
    triples.input_format = "triples";
    triples.params.min_count = 1;
    expect_same(triples);
}

TEST_F(words_tasks, refuse_what_is_not_distributed) {
    const auto refuses = [&](const std::string& why, const std::function<void(words_options&)>& change) {
        words_options options = made(2);
        options.space = folder_ / "space";
        change(options);
        try {
            plan_words(options, 2, context_with());
            ADD_FAILURE() << why << ": nothing was refused";
        } catch (const usage_error& e) {
            EXPECT_THAT(e.what(), HasSubstr(why));
        }
    };
    refuses("vectors of words", [](words_options& o) { o.params.measure = word_measure::lsa; });
    refuses("vectors of words", [](words_options& o) { o.params.dimensions = 3; });
    refuses("(expected --top K)", [](words_options& o) { o.params.full_matrix = true; });
    refuses("standard input", [](words_options& o) { o.inputs = {"-"}; });
}

TEST_F(words_tasks, refuse_another_corpus_or_damaged_results) {
    const words_options options = made();
    const auto share = ran(options, 2);
    made_by(options, "first", share);
    const auto file = file_of_result(share, 1, "neighbours");
    const std::string whole = testing::read_file(file);
    write_file(file, whole.substr(0, whole.size() - 4));
    EXPECT_THROW(made_by(options, "second", share), damaged_store);
    write_file(file, whole.substr(0, whole.size() - 4) + "\xff\xff\xff\x7f");
    EXPECT_THROW(made_by(options, "second", share), damaged_store);
    write_file(file, whole);
    const auto matrix = file_of_result(share, 0, "matrix");
    const std::string numbers = testing::read_file(matrix);
    for (const std::size_t size : {std::size_t{0}, std::size_t{39}, numbers.size() - 8}) {
        write_file(matrix, numbers.substr(0, size));
        EXPECT_THROW(made_by(options, "second", share), damaged_store) << size;
    }
    write_file(matrix, numbers);
    for (const std::string name : {"rows", "row-columns", "row-weights", "row-values"}) {
        const auto rows = file_of_result(share, 0, name);
        const std::string all = testing::read_file(rows);
        for (const std::size_t size : {std::size_t{0}, std::size_t{4}, all.size() - 4}) {
            write_file(rows, all.substr(0, size));
            const task_file task = read_task(file_of_task(share, 1));
            task_results results(task);
            words_options planned = options;
            planned.space = folder_ / "planned";
            EXPECT_THROW(run_words_task(planned, task, results, context_with()), damaged_store)
                << name << " " << size;
        }
        write_file(rows, all);
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "second"));
    EXPECT_THROW(made_by(made(300), "second", share), usage_error);
}

}  // namespace
}  // namespace quern::words_tasks_test
