// SPDX-License-Identifier: Apache-2.0
// Plans, tasks and lists of results: what is written is read back, and whatever else lies in the folder is refused.
#include "quern/tasks/cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "tasks/cluster/job_checksum.hpp"
#include "tasks/cluster/worker_gpus.hpp"
#include "tasks/store/manifest.hpp"
#include "tasks/vectors/merged_rankings.hpp"

namespace quern::cluster_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_file;
using testing::write_file;

/// What is refused, in words.
template <class Error, class Call>
std::string refused(const Call& call) {
    try {
        call();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was refused";
}

class cluster_test : public testing::corpus_fixture {
  protected:
    std::filesystem::path share() const { return folder_ / "job"; }

    /// Two tasks for one input, and one that reads their results.
    job_plan planned() const {
        const std::vector<std::filesystem::path> files{written("one\ntwo\n", "input \xff.txt")};
        job_plan plan;
        plan.request = {"filter", {"--mask=emails", "--", "a \xfe name"}, folder_.path(), 2};
        for (int i = 0; i < 2; ++i)
            plan.tasks.push_back({.phase = 0,
                                  .kind = "judge",
                                  .inputs = describe_inputs(files, context::cpu(1)),
                                  .parameters = {{"part", std::to_string(i)}}});
        plan.tasks.push_back({.phase = 1, .kind = "join", .after = {0, 1}});
        write_plan(plan, share());
        return plan;
    }
    task_outcome run(std::uint32_t number, const std::string& bytes = "result") const {
        const task_file task = read_task(file_of_task(share(), number));
        return run_task(task, context_with(), [&](task_results& results) {
            results.begin("first");
            results.append(bytes);
            results.begin("second");
        });
    }
    /// Writes a file of a job again with other members, and the right checksum.
    static void rewrite(const std::filesystem::path& file, const std::function<void(json&)>& change) {
        json members = json::parse(read_file(file));
        change(members);
        members.erase("checksum");
        members["checksum"] = manifests::hex(hash64(members.dump()));
        write_file(file, members.dump());
    }
};

TEST_F(cluster_test, plans_and_tasks_are_read_as_they_were_written) {
    const job_plan plan = planned(), read = read_plan(share());
    EXPECT_EQ(read.request, plan.request);
    EXPECT_EQ(read.tasks, plan.tasks);
    for (std::uint32_t i = 0; i < 3; ++i) {
        const task_file task = read_task(file_of_task(share(), i));
        EXPECT_EQ(task.number, i);
        EXPECT_EQ(task.request, plan.request);
        EXPECT_EQ(task.task, plan.tasks[i]);
        EXPECT_EQ(task.job, share());
    }
    EXPECT_EQ(plan.tasks[1].number("part"), 1u);
    EXPECT_THAT(refused<usage_error>([&] { static_cast<void>(plan.tasks[1].number("parts")); }),
                HasSubstr("no parameter parts"));
}

TEST_F(cluster_test, the_same_plan_stays_and_another_is_refused) {
    job_plan plan = planned();
    EXPECT_EQ(run(0), task_outcome::done);
    write_plan(plan, share());
    EXPECT_EQ(run(0), task_outcome::was_done);
    plan.request.shards = 3;
    EXPECT_THAT(refused<usage_error>([&] { write_plan(plan, share()); }),
                HasSubstr("another command or other options"));
    plan.request.shards = 2;
    ++plan.tasks[0].inputs[0].bytes;
    EXPECT_THAT(refused<usage_error>([&] { write_plan(plan, share()); }), HasSubstr("a file was changed"));
    write_file(folder_ / "full/mine", "");
    EXPECT_THAT(refused<usage_error>([&] { write_plan(plan, folder_ / "full"); }), HasSubstr("such as mine"));
}

TEST_F(cluster_test, damaged_files_of_a_job_are_refused) {
    planned();
    const std::filesystem::path file = file_of_task(share(), 1), plan = share() / "plan.json";
    const std::string whole = read_file(file);
    for (const std::string& damaged :
         {std::string(), std::string("{"), std::string("[]"), whole.substr(0, 90), whole + "}",
          std::string("{\"format\":\"quern plan\"}")}) {
        write_file(file, damaged);
        EXPECT_THROW(read_task(file), damaged_store) << damaged;
    }
    // Valid JSON that means something else.
    const auto refuses = [&](const std::function<void(json&)>& change, const std::string& why) {
        write_file(file, whole);
        rewrite(file, change);
        EXPECT_THAT(refused<damaged_store>([&] { read_task(file); }), HasSubstr(why));
    };
    refuses([](json& m) { m["version"] = 2; }, "format version 2");
    refuses([](json& m) { m["number"] = 2; }, "is task 2 under another name");
    refuses([](json& m) { m["number"] = "1"; }, "is not the JSON of a task");
    refuses([](json& m) { m.erase("task"); }, "is not the JSON of a task");
    refuses([](json& m) { m["task"]["after"] = {1}; }, "not earlier");
    refuses([](json& m) { m["task"]["inputs"][0]["checksum"] = "none"; }, "not a checksum");
    refuses([](json& m) { m["request"]["folder"] = "here"; }, "not absolute");
    write_file(file, whole);
    rewrite(plan, [](json& m) { m["tasks"][2]["phase"] = 0, m["tasks"][0]["phase"] = 1; });
    EXPECT_THAT(refused<damaged_store>([&] { read_plan(share()); }), HasSubstr("phases decrease"));
}

TEST_F(cluster_test, a_task_ends_the_job_for_later_ones_that_are_run_if_needed) {
    job_plan plan{{"pagerank", {}, folder_.path(), 1}, {}};
    for (unsigned phase = 0; phase < 4; ++phase)
        plan.tasks.push_back({.phase = phase, .kind = "step", .if_needed = phase > 0});
    write_plan(plan, share());
    EXPECT_EQ(read_plan(share()).tasks, plan.tasks);
    const auto states = [&] { return status_of(share()).states; };
    using enum task_state;
    EXPECT_THAT(states(), ::testing::ElementsAre(waiting, possible, possible, possible));
    EXPECT_EQ(run(0), task_outcome::done);
    EXPECT_THAT(states(), ::testing::ElementsAre(done, waiting, possible, possible));
    EXPECT_FALSE(last_needed_phase(share()));
    EXPECT_THROW(require_finished(plan, share(), context_with()), usage_error);
    const task_file second = read_task(file_of_task(share(), 1));
    run_task(second, context_with(), [](task_results& results) { results.end_job(); });
    EXPECT_EQ(last_needed_phase(share()), 1u);
    EXPECT_THAT(states(), ::testing::ElementsAre(done, done, unneeded, unneeded));
    EXPECT_EQ(run(2), task_outcome::unneeded);
    EXPECT_FALSE(std::filesystem::exists(file_of_result(share(), 2, "first")));
    require_finished(plan, share(), context_with());
    write_file(share() / "states/0001.ended", "1 or 2\n");
    EXPECT_THAT(refused<damaged_store>([&] { states(); }), HasSubstr("not the number of a phase"));
}

TEST_F(cluster_test, another_version_is_refused) {
    planned();
    rewrite(file_of_task(share(), 0), [](json& m) { m["quern"] = "0.0.1"; });
    EXPECT_THAT(refused<usage_error>([&] { read_task(file_of_task(share(), 0)); }),
                HasSubstr("is of Quern 0.0.1"));
    rewrite(share() / "plan.json", [](json& m) { m["quern"] = "0.0.1"; });
    EXPECT_THAT(refused<usage_error>([&] { status_of(share()); }), HasSubstr("is of Quern 0.0.1"));
}

TEST_F(cluster_test, results_count_when_they_are_listed_and_match) {
    planned();
    EXPECT_EQ(run(0, "some bytes"), task_outcome::done);
    EXPECT_EQ(read_file(file_of_result(share(), 0, "first")), "some bytes");
    EXPECT_EQ(run(0, "other bytes"), task_outcome::was_done);
    write_file(file_of_result(share(), 0, "first"), "some bites");
    EXPECT_EQ(run(0, "some bytes"), task_outcome::done);
    std::filesystem::remove(file_of_result(share(), 0, "second"));
    EXPECT_EQ(status_of(share()).states[0], task_state::waiting);
    EXPECT_EQ(run(0, "some bytes"), task_outcome::done);
    EXPECT_EQ(status_of(share()).states[0], task_state::done);
    // A list that names a file elsewhere is none.
    write_file(folder_ / "elsewhere", "");
    rewrite(share() / "results/0000.json",
            [](json& m) { m["files"]["../../elsewhere"] = m["files"]["second"]; });
    EXPECT_THAT(status_of(share()).notes.at(0), HasSubstr("lists a file '../../elsewhere'"));
    EXPECT_EQ(run(0, "some bytes"), task_outcome::done);
}

TEST_F(cluster_test, later_tasks_need_whole_results_of_earlier_ones) {
    const job_plan plan = planned();
    EXPECT_THAT(refused<usage_error>([&] { run(2); }), HasSubstr("needs the results of task 0"));
    EXPECT_EQ(status_of(share()).states,
              (std::vector{task_state::waiting, task_state::waiting, task_state::failed}));
    run(0);
    run(1);
    write_file(file_of_result(share(), 1, "first"), "resulT");
    EXPECT_THAT(refused<damaged_store>([&] { run(2); }), HasSubstr("0001.first does not match its checksum"));
    run(1);
    EXPECT_EQ(run(2), task_outcome::done);
    require_finished(plan, share(), context_with());
    std::filesystem::remove(share() / "results/0001.json");
    EXPECT_THAT(refused<usage_error>([&] { require_finished(plan, share(), context_with()); }),
                HasSubstr("1 of 3 tasks are not done, the first of them task 1"));
}

TEST_F(cluster_test, a_task_checks_the_results_that_it_names) {
    job_plan plan = planned();
    plan.tasks[2].parameters["reads"] = "first";
    std::filesystem::remove_all(share());
    write_plan(plan, share());
    run(0);
    run(1);
    write_file(file_of_result(share(), 0, "second"), "damaged");
    EXPECT_EQ(run(2), task_outcome::done);
    EXPECT_THAT(refused<damaged_store>([&] { require_finished(plan, share(), context_with()); }),
                HasSubstr("0000.second has 7 bytes instead of 0"));
    std::filesystem::remove(share() / "results/0002.json");
    write_file(file_of_result(share(), 1, "first"), "resulT");
    EXPECT_THAT(refused<damaged_store>([&] { run(2); }), HasSubstr("0001.first does not match its checksum"));
}

TEST_F(cluster_test, lists_of_results_say_where_a_task_ran) {
    planned();
    const task_file task = read_task(file_of_task(share(), 0));
    run_task(task, context_with(), [](task_results& results) {
        EXPECT_EQ(results.device(), "cpu");
        results.ran_on("cuda:1,0");
    });
    const json ran = json::parse(read_file(share() / "results/0000.json")).at("ran");
    EXPECT_EQ(ran.at("device"), "cuda:1,0");
    EXPECT_LE(ran.at("gpus").size(), 2u);  // those of this machine
    EXPECT_GT(ran.at("seconds"), 0);
    const std::string note = status_of(share()).notes.at(0);
    EXPECT_THAT(note, HasSubstr(ran.at("host").get<std::string>() + ", cuda:1,0"));
    for (const json& gpu : ran.at("gpus")) EXPECT_THAT(note, HasSubstr(gpu.at("uuid").get<std::string>()));
}

TEST_F(cluster_test, checksums_do_not_depend_on_threads_nor_on_how_bytes_arrive) {
    using job_files::checksum_piece, job_files::checksums_of_files, job_files::job_checksum;
    const std::vector<std::filesystem::path> files{written("", "empty"), written("bytes", "short"),
                                                   written("", "piece"), written("", "longer"),
                                                   written("", "twice")};
    std::filesystem::resize_file(files[2], checksum_piece);
    std::filesystem::resize_file(files[3], checksum_piece + 1);
    std::filesystem::resize_file(files[4], 2 * checksum_piece);
    std::vector<std::uint64_t> expected;
    for (const std::filesystem::path& file : files) {
        job_checksum sum;
        const std::string bytes = read_file(file);
        for (std::size_t at = 0; at < bytes.size(); at += 40'000'003)
            sum.add(std::string_view(bytes).substr(at, 40'000'003));
        expected.push_back(sum.value());
    }
    EXPECT_EQ(expected[0], hash64(""));
    EXPECT_EQ(expected[1], hash64("bytes"));
    EXPECT_EQ(expected[2], hash64(std::string(checksum_piece, '\0')));
    const std::uint64_t two[] = {expected[2], hash64(std::string_view("\0", 1))};
    EXPECT_EQ(expected[3], hash64({reinterpret_cast<const char*>(two), sizeof two}));
    for (const unsigned threads : {1u, 3u})
        EXPECT_EQ(checksums_of_files(files, context::cpu(threads)), expected) << threads;
    const std::vector<std::filesystem::path> missing{files[1], folder_ / "none"};
    EXPECT_THROW(checksums_of_files(missing, context::cpu(1)), io_error);
}

TEST_F(cluster_test, changed_inputs_are_refused_by_tasks_and_at_the_end) {
    const job_plan plan = planned();
    for (std::uint32_t i = 0; i < 3; ++i) run(i);
    const std::filesystem::path input = plan.tasks[0].inputs[0].path;
    write_file(input, "one\ntwO\n");
    EXPECT_THAT(refused<usage_error>([&] { require_finished(plan, share(), context_with()); }),
                HasSubstr("was changed since the plan"));
    std::filesystem::remove(share() / "results/0000.json");
    EXPECT_THAT(refused<usage_error>([&] { run(0); }), HasSubstr("was changed since the plan"));
    std::filesystem::remove(input);
    EXPECT_THAT(refused<usage_error>([&] { run(0); }), HasSubstr("the plan reads it"));
    EXPECT_THAT(status_of(share()).notes.at(0), HasSubstr("the plan reads it"));
}

TEST_F(cluster_test, a_task_that_runs_is_locked_and_one_that_failed_says_why) {
    planned();
    const task_file task = read_task(file_of_task(share(), 1));
    const auto work = [&](task_results& results) {
        results.begin("half");
        results.append("not the end");
        EXPECT_EQ(status_of(share()).states[1], task_state::running);
        EXPECT_THAT(refused<usage_error>([&] { run(1); }), HasSubstr("task 1 is running on "));
        throw invalid_input("corpus", 3, "is wrong");
    };
    EXPECT_THROW(run_task(task, context_with(), work), invalid_input);
    const job_status status = status_of(share());
    EXPECT_EQ(status.states[1], task_state::failed);
    EXPECT_EQ(status.notes.at(1), "corpus:3: is wrong");
    EXPECT_EQ(status.count(task_state::waiting), 2u);
    EXPECT_TRUE(std::filesystem::is_empty(share() / "results"));
    EXPECT_EQ(run(1), task_outcome::done);
    EXPECT_EQ(status_of(share()).states[1], task_state::done);
    EXPECT_FALSE(std::filesystem::exists(share() / "states/0001.failed"));
}

TEST(cluster_gpus_test, are_shared_by_the_workers_in_turn) {
    EXPECT_THAT(shared_gpus(3, "", 1), ElementsAre());
    EXPECT_THAT(shared_gpus(1, "", 3), ElementsAre("0,1,2"));
    EXPECT_THAT(shared_gpus(3, "", 8), ElementsAre("0,3,6", "1,4,7", "2,5"));
    EXPECT_THAT(shared_gpus(5, "", 2), ElementsAre("0", "1"));  // worker i has [i mod 2]
    EXPECT_THAT(shared_gpus(2, "7,GPU-a1,2", 3), ElementsAre("7,2", "GPU-a1"));
    EXPECT_THAT(shared_gpus(2, "7,4,-1", 2),
                ElementsAre("7", "4"));  // the driver stops at the first that is none
}

TEST_F(cluster_test, workers_see_the_gpus_of_their_place) {
    job_plan many;
    many.request = {"filter", {}, folder_.path(), 5};
    many.tasks.resize(5);
    for (job_task& task : many.tasks) task.kind = "judge";
    write_plan(many, folder_ / "many");
    // A program that notes its task and waits until the second worker has noted its own.
    const std::filesystem::path program = written(
        "#!/bin/sh\n"
        "cd \"$(dirname \"$0\")\"\n"
        "echo \"${CUDA_VISIBLE_DEVICES-unset} $QUERN_TEST_INHERITED\" >seen-$(basename \"$2\" .json)\n"
        "until [ -e seen-0001 ]; do sleep 0.01; done\n",
        "program");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const auto seen = [&](const char* task) { return read_file(folder_ / (std::string("seen-") + task)); };
    ::setenv("QUERN_TEST_INHERITED", "inherited", 1);
    const std::string rest = " inherited\n";
    run_local(many, folder_ / "many", {2, program, {}, {"3,5", "GPU-4"}}, context_with());
    EXPECT_EQ(seen("0000"), "3,5" + rest);
    EXPECT_EQ(seen("0001"), "GPU-4" + rest);
    for (const char* const task : {"0002", "0003", "0004"})
        EXPECT_THAT(seen(task), ::testing::AnyOf("3,5" + rest, "GPU-4" + rest));
}

TEST_F(cluster_test, names_of_results_stay_in_their_folder) {
    planned();
    const task_file task = read_task(file_of_task(share(), 0));
    for (const char* const name : {"", "../plan", "a/b", "a.b", "."})
        EXPECT_THROW(run_task(task, context_with(), [&](task_results& r) { r.begin(name); }), usage_error)
            << name;
}

TEST_F(cluster_test, merges_rankings_by_distance_then_id_and_decides_rounded_ties) {
    job_plan plan;
    plan.request = {"nearest", {}, folder_.path(), 2};
    plan.tasks.resize(2);
    write_plan(plan, share());
    const auto write = [&](std::uint32_t number, const std::string& bytes) {
        run_task(read_task(file_of_task(share(), number)), context_with(), [&](task_results& results) {
            results.begin("rankings");
            results.append(bytes);
        });
    };
    std::string low, high;
    append_ranking(low, std::vector<std::uint32_t>{2, 0, 5}, std::vector<double>{1, 2, 2}, 0);
    append_ranking(low, {}, {}, 0);
    append_ranking(high, std::vector<std::uint32_t>{1, 0, 3}, std::vector<double>{0.5, 2, 3}, 64);
    append_ranking(high, std::vector<std::uint32_t>{9}, std::vector<double>{7}, 64);
    write(0, low);
    write(1, high);
    merged_rankings exact(share());
    exact.next({.k = 5, .are_exact = true});
    EXPECT_THAT(exact.ids(), ElementsAre(65, 2, 0, 5, 64));
    EXPECT_THAT(exact.distances(), ElementsAre(0.5, 1, 2, 2, 2));
    exact.next({.k = 5, .are_exact = true});
    EXPECT_THAT(exact.ids(), ElementsAre(73));
    EXPECT_THROW(exact.next({.k = 5, .are_exact = true}), damaged_store);

    merged_rankings rounded(share());
    rounded.next({.k = 3, .order = [](std::uint64_t, std::span<const std::uint32_t> ids) {
                      EXPECT_THAT(ids, ElementsAre(0, 5, 64));
                      return std::vector<std::uint32_t>{64, 5, 0};
                  }});
    EXPECT_THAT(rounded.ids(), ElementsAre(65, 2, 64));
}

}  // namespace
}  // namespace quern::cluster_test
