// SPDX-License-Identifier: Apache-2.0
// PageRank from tasks: the same ranks, bit for bit, as those of one run, for any number of shards and of planned steps.
#include "quern/tasks/rank_tasks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"

namespace quern::rank_tasks_test {
namespace {

using ::testing::HasSubstr;
using testing::made_numbers;

using node_ranks = std::vector<std::pair<std::string, double>>;

class rank_tasks : public testing::corpus_fixture {
  protected:
    /// Names, weights, repeated links, links to oneself, nodes without links out.
    link_rank_options made(std::uint64_t links = 3000) const {
        made_numbers random(5);
        std::string lines;
        for (std::uint64_t i = 0; i < links; ++i)
            lines += "n" + std::to_string(random(1 + random(500))) + "\tn" +
                     std::to_string(random(1 + random(700))) + "\t" + std::to_string(1 + random(9)) + "\n";
        link_rank_options options;
        options.graph = written(lines, "links.tsv");
        return options;
    }
    std::pair<link_rank_result, node_ranks> alone(const link_rank_options& options) const {
        node_ranks rows;
        link_rank_result found = rank_links(
            options, context_with(), [&](const ranked_node& node) { rows.emplace_back(node.id, node.rank); });
        return {std::move(found), std::move(rows)};
    }
    std::pair<link_rank_result, node_ranks> merged(const link_rank_options& options,
                                                   const std::filesystem::path& job) const {
        node_ranks rows;
        link_rank_result found = ranks_of_job(options, job, context_with(), [&](const ranked_node& node) {
            rows.emplace_back(node.id, node.rank);
        });
        return {std::move(found), std::move(rows)};
    }
    void run(const link_rank_options& options, const std::filesystem::path& job, std::uint32_t number) const {
        const task_file task = read_task(file_of_task(job, number));
        run_task(task, context_with(), [&](task_results& results) {
            run_rank_task(options, task, results, context_with(1 + number % 2));
        });
    }
    /// `steps`: of the plan; 0: all.
    std::filesystem::path ran(const link_rank_options& options, unsigned shards, unsigned steps = 0) {
        auto share = folder_ / ("job" + std::to_string(++jobs_));
        std::vector<job_task> tasks = plan_rank_links(options, shards, context_with());
        if (steps != 0) tasks.resize(1 + std::size_t{steps} * shards);
        write_plan({{"pagerank", {}, folder_.path(), shards}, tasks}, share);
        for (std::uint32_t i = 0; i < tasks.size(); ++i) run(options, share, i);
        return share;
    }
    void expect_same(const link_rank_options& options, unsigned steps = 0) {
        const auto [expected, rows] = alone(options);
        for (const unsigned shards : {1u, 2u, 3u, 5u}) {
            const auto [found, found_rows] = merged(options, ran(options, shards, steps));
            EXPECT_TRUE(found_rows == rows) << shards;
            EXPECT_EQ(found.iterations, expected.iterations);
            EXPECT_EQ(found.change, expected.change);
            EXPECT_EQ(found.error_bound, expected.error_bound);
            EXPECT_EQ(found.converged, expected.converged);
            EXPECT_EQ(found.nodes, expected.nodes);
            EXPECT_EQ(found.links, expected.links);
            EXPECT_EQ(found.dangling, expected.dangling);
            EXPECT_EQ(found.self_loops, expected.self_loops);
            EXPECT_EQ(found.unknown_starts, expected.unknown_starts);
        }
    }

    int jobs_ = 0;
};

TEST_F(rank_tasks, any_number_of_shards) {
    link_rank_options options = made();
    options.rank.tolerance = 1e-3;
    expect_same(options);
    options.weighted = true;
    expect_same(options);
}

TEST_F(rank_tasks, files_of_numbers_and_rules) {
    link_rank_options options = made();
    options.rank.max_iterations = 6;
    options.preference = written("n1\t3\nn2\n", "seeds");
    options.start = written("n3\t2\nn4\t5\nnobody\t1\n", "start");
    for (const dangling_rule rule :
         {dangling_rule::uniform, dangling_rule::preference, dangling_rule::none}) {
        options.rank.dangling = rule;
        expect_same(options);
    }
}

TEST_F(rank_tasks, fewer_nodes_than_shards) {
    link_rank_options options;
    options.graph = written("0 1\n1 1\n", "tiny");
    options.rank.tolerance = 0.1;
    expect_same(options);
}

TEST_F(rank_tasks, more_steps_than_planned) {
    link_rank_options options = made();
    options.rank.tolerance = 1e-9;
    ASSERT_GT(alone(options).first.iterations, 5u);
    expect_same(options, 1);
    expect_same(options, 4);
    options.weighted = true;
    expect_same(options, 3);
}

TEST_F(rank_tasks, steps_are_planned_by_the_tolerance) {
    link_rank_options options = made(10);
    const auto steps = [&] { return plan_rank_links(options, 1, context_with()).size() - 1; };
    const std::size_t usual = steps();
    EXPECT_GT(usual, 60u);
    EXPECT_LT(usual, 120u);
    options.rank.tolerance = 1e-300;  // the grid ends it
    EXPECT_LT(steps(), 400u);
    options.rank.tolerance = 10;
    EXPECT_GE(steps(), 1u);
    options.rank.max_iterations = 2;
    EXPECT_EQ(steps(), 2u);
}

TEST_F(rank_tasks, used_results_are_removed) {
    link_rank_options options = made();
    options.rank.max_iterations = 5;
    const auto job = ran(options, 2);
    const job_plan plan = read_plan(job);
    require_finished(plan, job, context_with());
    const auto has_state = [&](std::uint32_t step) {
        return std::filesystem::exists(file_of_result(job, 1 + (step - 1) * 2, "state-0000"));
    };
    EXPECT_FALSE(has_state(1));
    EXPECT_FALSE(has_state(3));
    EXPECT_TRUE(has_state(4));
    EXPECT_TRUE(has_state(5));
    // What is damaged can be made again from the step before it, but not after that was removed.
    std::ofstream(file_of_result(job, 10, "sent"), std::ios::app) << "more";
    EXPECT_THROW(require_finished(plan, job, context_with()), damaged_store);
    run(options, job, 10);
    EXPECT_TRUE(merged(options, job).second == alone(options).second);
    std::ofstream(file_of_result(job, 8, "sent"), std::ios::app) << "more";
    try {
        run(options, job, 8);
        FAIL();
    } catch (const usage_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("was removed after its use"));
        EXPECT_THAT(e.what(), HasSubstr("with another folder"));
    }
}

TEST_F(rank_tasks, what_is_refused) {
    link_rank_options options = made(10);
    const auto expect_refused = [&](const std::string& text, unsigned shards = 2) {
        try {
            plan_rank_links(options, shards, context_with());
            FAIL() << text;
        } catch (const usage_error& e) {
            EXPECT_THAT(e.what(), HasSubstr(text));
        }
    };
    expect_refused("expected at most 128", 129);
    options.rank.storage = rank_storage::csr;
    expect_refused("expected the storage auto");
    options.rank.storage = rank_storage::automatic;
    options.method = rank_method::hits;
    expect_refused("hits is not distributed");
    options.method = rank_method::pagerank;
    options.start = "-";
    expect_refused("standard input cannot be read by every task");
    options.start.clear();
    options.rank.damping = 2;
    expect_refused("damping");
}

}  // namespace
}  // namespace quern::rank_tasks_test
