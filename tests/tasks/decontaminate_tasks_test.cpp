// SPDX-License-Identifier: Apache-2.0
// Items that tasks find in training documents: the same results as those of one run, for any number of shards; and what is refused.
#include "quern/tasks/decontaminate_tasks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "tasks/decontaminate/found_items.hpp"

namespace quern::decontaminate_tasks_test {
namespace {

using ::testing::ElementsAreArray;
using testing::made_numbers;
using testing::write_file;

std::string made_text(made_numbers& random, std::uint64_t words) {
    std::string text;
    for (std::uint64_t w = 0; w < words; ++w) text += "w" + std::to_string(random(30)) + " ";
    return text;
}

class decontaminate_tasks : public testing::corpus_fixture {
  protected:
    /// Training documents of which many have items, several inputs, repeated ids; items of several sets.
    decontaminate_options made() const {
        made_numbers random(9);
        std::string sets[2], inputs[3];
        std::vector<std::string> items;
        for (int i = 0; i < 60; ++i) {
            items.push_back(made_text(random, random(9)));
            sets[i % 2] += R"({"id":"q)" + std::to_string(i) + R"(","text":")" + items.back() + "\"}\n";
        }
        for (int d = 0; d < 800; ++d) {
            std::string text = made_text(random, random(25));
            if (random(3) == 0) text += items[random(items.size())] + made_text(random, 3);
            inputs[d < 60 ? 0 : d % 2 + 1] +=
                R"({"id":"d)" + std::to_string(random(40) == 0 ? 5 : d) + R"(", "text":")" + text + "\"}\n";
        }
        decontaminate_options options;
        options.inputs = {written(inputs[0], "a.jsonl"), written(inputs[1], "b.jsonl"),
                          written(inputs[2], "c.jsonl")};
        options.against.inputs = {written(sets[0], "x.jsonl"), written(sets[1], "y.jsonl")};
        options.contamination.ngram = 3;
        options.max_errors.share = 1;
        options.keep_examples = true;
        return options;
    }
    struct outcome {
        std::string kept, report;
        std::vector<std::tuple<std::string, std::string, std::uint32_t, std::uint32_t, std::uint32_t>>
            matches;
        std::uint64_t documents = 0, rejected = 0, evaluation_bytes = 0;
        bool operator==(const outcome&) const = default;
    };
    outcome made_by(decontaminate_options options) const {
        outcome made;
        options.kept = [&](std::string_view bytes) { made.kept += bytes; };
        const decontaminate_result result = decontaminate(options, context_with());
        result.write_report([&](std::string_view bytes) { made.report += bytes; });
        for (const contamination& m : result.matches())
            made.matches.emplace_back(result.item(m.item).id, result.contaminated(m.document).id, m.found,
                                      m.begin, m.end);
        made.documents = result.found.documents;
        made.rejected = result.counts.rejected;
        made.evaluation_bytes = result.found.evaluation_bytes;
        return made;
    }
    std::filesystem::path ran(const decontaminate_options& options, unsigned shards) {
        const auto share = folder_ / ("job" + std::to_string(++jobs_));
        write_plan({{"decontaminate", {}, folder_.path(), shards},
                    plan_decontaminate(options, shards, context_with())},
                   share);
        run_all(options, share);
        return share;
    }
    void run_all(const decontaminate_options& options, const std::filesystem::path& share) const {
        const job_plan plan = read_plan(share);
        for (auto i = static_cast<std::uint32_t>(plan.tasks.size()); i-- > 0;) {
            const task_file task = read_task(file_of_task(share, i));
            run_task(task, context_with(1 + i % 2), [&](task_results& results) {
                run_decontaminate_task(options, task, results, context_with(1 + i % 2));
            });
        }
    }

    int jobs_ = 0;
};

TEST_F(decontaminate_tasks, find_what_one_run_finds) {
    const decontaminate_options options = made();
    const outcome expected = made_by(options);
    EXPECT_GT(expected.matches.size(), 100u);
    EXPECT_GT(expected.rejected, 0u);
    EXPECT_GT(expected.kept.size(), 1000u);
    for (const unsigned shards : {1u, 2u, 3u, 5u, 17u}) {
        decontaminate_options merged = options;
        merged.matches_of_job = ran(options, shards);
        EXPECT_TRUE(made_by(merged) == expected) << shards << " shards";
    }
}

TEST_F(decontaminate_tasks, find_items_of_folders_with_stop_words) {
    decontaminate_options options = made();
    for (const char* const name : {"one.txt", "two.txt"})
        write_file(folder_ / "items" / name, "w1 w2 w3 w4 " + std::string(name));
    options.against.inputs.push_back(folder_ / "items");
    options.text.stop_words = written("w3\nw9\n", "stop");
    options.contamination.overlap = {2, 10};
    const outcome expected = made_by(options);
    decontaminate_options merged = options;
    merged.matches_of_job = ran(options, 4);
    EXPECT_TRUE(made_by(merged) == expected);
    // A set has another file at the time of the tasks.
    write_plan({{"decontaminate", {}, folder_.path(), 2}, plan_decontaminate(options, 2, context_with())},
               folder_ / "late");
    write_file(folder_ / "items/three.txt", "w1");
    EXPECT_THROW(run_all(options, folder_ / "late"), usage_error);
}

TEST_F(decontaminate_tasks, refuse_another_corpus_or_standard_input) {
    const decontaminate_options options = made();
    decontaminate_options merged = options;
    merged.matches_of_job = ran(options, 3);
    written("{\"id\":\"d1\",\"text\":\"w1 w2 w3\"}\n", "b.jsonl");
    EXPECT_THROW(made_by(merged), usage_error);
    decontaminate_options from_pipe = made();
    from_pipe.against.inputs.emplace_back("-");
    EXPECT_THROW(plan_decontaminate(from_pipe, 2, context_with()), usage_error);
    from_pipe = made();
    from_pipe.inputs.emplace_back("-");
    EXPECT_THROW(plan_decontaminate(from_pipe, 2, context_with()), usage_error);
}

TEST_F(decontaminate_tasks, write_a_folder_but_do_not_resume_it) {
    decontaminate_options options = made();
    const std::filesystem::path job = ran(options, 3);
    options.keep_examples = false;
    options.kept_folder = folder_ / "alone";
    decontaminate(options, context_with()).write_kept_folder(context_with());
    options.matches_of_job = job;
    options.kept_folder = folder_ / "together";
    decontaminate(options, context_with()).write_kept_folder(context_with());
    EXPECT_EQ(testing::files_of(options.kept_folder), testing::files_of(folder_ / "alone"));
    EXPECT_GE(testing::files_of(options.kept_folder).size(), 3u);
    options.kept_folder = folder_ / "resumed";
    options.resume = true;
    EXPECT_THROW(decontaminate(options, context_with()), usage_error);
    options.matches_of_job.clear();
    EXPECT_THROW(plan_decontaminate(options, 2, context_with()), usage_error);
}

TEST(matches_of_tasks, are_read_as_they_were_written) {
    const std::vector<contamination> made{{.item = 3, .found = 2, .of = 5, .begin = 0, .end = UINT32_MAX},
                                          {.item = 9, .found = 300, .of = 300, .begin = 7, .end = 70000}};
    const std::string bytes = bytes_of_matches(made);
    EXPECT_THAT(matches_of_bytes(bytes, 10, "job"), ElementsAreArray(made));
    EXPECT_THAT(matches_of_bytes("", 10, "job"), ::testing::IsEmpty());
    EXPECT_THROW(matches_of_bytes(bytes, 9, "job"), damaged_store);
    EXPECT_THROW(matches_of_bytes(std::string_view(bytes).substr(0, bytes.size() - 1), 10, "job"),
                 damaged_store);
}

}  // namespace
}  // namespace quern::decontaminate_tasks_test
