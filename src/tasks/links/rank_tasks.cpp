// SPDX-License-Identifier: Apache-2.0
// The tasks of a ranking: reading the graph, and the steps. Their files: rank_step_files.hpp.
#include "quern/tasks/rank_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "device/array.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "ops/link_rank/rank_blocks.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/link_rank_option_table.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/cluster/result_values.hpp"
#include "tasks/links/input_graph.hpp"
#include "tasks/links/rank_output.hpp"
#include "tasks/links/rank_step_files.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/remaining_memory.hpp"

namespace quern {

using namespace rank_tasks_detail;

namespace {

constexpr unsigned max_blocks = 128;  // each step of a block reads what all others sent

void refuse_what_is_whole(const link_rank_options& options) {
    if (options.method != rank_method::pagerank)
        throw usage_error("hits is not distributed (expected the method pagerank)");
    if (options.rank.storage != rank_storage::automatic)
        throw usage_error(
            "a storage format is not distributed (expected the storage auto, whose sums are integers)");
    if (options.graph == "-" || options.preference == "-" || options.start == "-")
        throw usage_error("standard input cannot be read by every task (expected files)");
    if (is_store(options.graph))
        throw usage_error(options.graph.string() +
                          ": the links of a store are not distributed (expected a file of links)");
}

/// How many steps the iteration can take: a step leaves at most a sixteenth of what the residual has, besides α times the rest; and
/// the grid ends it.
std::uint64_t planned_steps(const page_rank_options& rank) {
    constexpr double grid = 0x1p-62, first_change = 2;
    const double fall = rank.damping + (1 - rank.damping) / 16,
                 tolerance = std::clamp(rank.tolerance, grid, 1.0);
    const double steps = std::ceil(std::log(tolerance / first_change) / std::log(fall)) + 3;
    return static_cast<std::uint64_t>(
        std::clamp(steps, 1.0, static_cast<double>(std::max(rank.max_iterations, 1u))));
}

void write_nodes(task_results& results, const input_graph& nodes, const link_rank_result& counts,
                 const error_terms& terms, const context& ctx) {
    const std::array<std::uint64_t, counts_size> numbers{counts.nodes,
                                                         counts.links,
                                                         counts.dangling,
                                                         counts.self_loops,
                                                         counts.unknown_starts,
                                                         terms.max_links,
                                                         static_cast<std::uint64_t>(terms.dangling),
                                                         terms.personalised,
                                                         terms.weighted};
    results.begin("nodes");
    append_values(results, std::span<const std::uint64_t>(numbers));
    constexpr std::uint32_t at_once = 1u << 16;
    const auto in_parts = [&](const auto& append) {
        for (std::uint32_t v = 0; v < nodes.graph.nodes; ++v) {
            if (v % at_once == 0) ctx.check_stop();
            append(v);
        }
    };
    std::uint64_t end = 0;
    std::vector<std::uint64_t> ends;
    in_parts([&](std::uint32_t v) {
        ends.push_back(end += nodes.name_of(v).size());
        if (ends.size() < at_once && v + 1 < nodes.graph.nodes) return;
        append_values(results, std::span<const std::uint64_t>(ends));
        ends.clear();
    });
    std::string names;
    in_parts([&](std::uint32_t v) {
        names += nodes.name_of(v);
        if (names.size() < at_once && v + 1 < nodes.graph.nodes) return;
        results.append(names);
        names.clear();
    });
}

void read_graph(const link_rank_options& options, std::uint64_t blocks, task_results& results,
                const context& requested) {
    link_rank_result counts;
    const context ctx = pinned_to_device(requested, "pagerank", counts.statistics, offered_places::cpu_only);
    const ranked_input read = read_ranked_input(options, counts, ctx);
    const std::uint64_t held = read.bytes_held();
    cpu_place place(with_remaining_memory(ctx, held, "the links of a graph"));
    const link_graph_view graph = read.nodes.graph.view();
    link_rank_detail::check(read.rank, graph.nodes);
    const integer_problem problem(place, graph, read.rank);
    write_nodes(results, read.nodes, counts, problem.terms(), ctx);

    step_control control;
    control.nodes = graph.nodes;
    control.weighted = !graph.weights.empty();
    const sent_array sent(place, graph.nodes, true);
    const std::vector<std::uint32_t> bounds = block_bounds(graph, static_cast<std::uint32_t>(blocks));
    pass_totals all;
    std::vector<std::uint64_t> offsets{0};
    for (std::uint64_t b = 0; b < blocks; ++b) {
        ctx.check_stop();
        rank_block block;
        block.links.offsets = offsets;
        if (graph.nodes != 0) block = block_of(graph, problem.params(), bounds[b], bounds[b + 1], offsets);
        write_block(results, b, graph.nodes, control.weighted, block);
        const cpu_array<std::int64_t> ranks(place, block.links.nodes, "the ranks"),
            residuals(place, block.links.nodes, "the residuals");
        add_totals(all,
                   begin_block(place, block, control, ranks.data(), residuals.data(), sent.at(bounds[b])));
        write_state(results, name_of_part("begin-state", b), ranks.span(), residuals.span());
    }
    write_totals(results, "begin-totals", all);
    results.begin("begin-sent");
    sent.append_to(results);
}

void do_step(const task_file& file, task_results& results, const context& requested) {
    run_statistics statistics;
    const context ctx = pinned_to_device(requested, "pagerank", statistics, offered_places::cpu_only);
    const std::uint64_t step = file.task.number("step"), b = file.task.number("block");
    const step_files files{file.job, file.task.number("blocks")};
    if (step == 0 || b >= files.blocks || files.task(step, b) != file.number)
        throw usage_error(fmt::format("task {} has a step that the plan does not have", file.number));
    const stored_block stored(file.job, b);
    iteration_state now = state_after(files, step - 1, stored);
    if (!now.control.ended) now.control.begin_step(stored.block().params, now.dangling_mass);
    write_control(results, now.control);
    if (now.control.ended) return results.end_job();

    cpu_place place(ctx);
    const std::uint32_t nodes = stored.block().links.nodes;
    sent_array all(place, stored.all_nodes(), now.control.now.wide);
    all.read(files, step - 1);
    const sent_array sent(place, nodes, now.control.next.wide);
    const cpu_array<std::int64_t> ranks(place, nodes, "the ranks"), residuals(place, nodes, "the residuals");
    const std::string state = name_of_part("state", b);
    read_state(files.file(step - 1, b, state), ranks.span(), residuals.span());
    write_totals(results, "totals",
                 step_block(place, stored.block(), now.control, all.at(0), ranks.data(), residuals.data(),
                            sent.at(0)));
    write_state(results, state, ranks.span(), residuals.span());
    results.begin("sent");
    sent.append_to(results);
    if (step > 2) job_files::remove_results(file.job, files.task(step - 2, b));
}

}  // namespace

std::vector<job_task> plan_rank_links(const link_rank_options& options, unsigned shards, const context& ctx) {
    refuse_what_is_whole(options);
    check_ranges(options.rank);
    require_cpu(ctx, "pagerank in tasks");
    if (shards > max_blocks)
        throw usage_error(fmt::format(
            "{} shards of a graph (expected at most {}: each step of a shard reads what all nodes send)",
            shards, max_blocks));
    std::vector<fs::path> files{options.graph};
    for (const fs::path& more : {options.preference, options.start})
        if (!more.empty()) files.push_back(more);
    const step_files numbers{{}, std::max(shards, 1u)};
    std::vector<job_task> tasks(1);
    tasks[0].kind = "read";
    tasks[0].inputs = describe_inputs(files, ctx);
    tasks[0].parameters = {{"blocks", std::to_string(numbers.blocks)}};
    const std::uint64_t steps = planned_steps(options.rank);
    for (std::uint64_t step = 1; step <= steps; ++step) {
        for (std::uint64_t b = 0; b < numbers.blocks; ++b) {
            job_task& task = tasks.emplace_back();
            task.phase = static_cast<unsigned>(step);
            task.kind = "step";
            task.if_needed = step > 1;
            task.after = {0};
            for (std::uint64_t other = 0; step > 1 && other < numbers.blocks; ++other)
                task.after.push_back(numbers.task(step - 1, other));
            const std::string state = name_of_part("state", b), links = name_of_part("links", b);
            task.parameters = {{"step", std::to_string(step)},
                               {"block", std::to_string(b)},
                               {"blocks", std::to_string(numbers.blocks)},
                               {std::string(job_files::reads),
                                step == 1 ? fmt::format("{} begin-totals begin-sent begin-{}", links, state)
                                          : fmt::format("{} control totals sent {}", links, state)}};
        }
    }
    return tasks;
}

void run_rank_task(const link_rank_options& options, const task_file& task, task_results& results,
                   const context& ctx) {
    refuse_what_is_whole(options);
    if (task.task.kind == "read") return read_graph(options, task.task.number("blocks"), results, ctx);
    do_step(task, results, ctx);
}

}  // namespace quern
