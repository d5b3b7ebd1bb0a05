// SPDX-License-Identifier: Apache-2.0
// The end of a ranking in tasks: steps that were not planned, and the nodes by rank.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "ops/link_rank/rank_blocks.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/tasks/rank_tasks.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/cluster/result_values.hpp"
#include "tasks/links/rank_output.hpp"
#include "tasks/links/rank_step_files.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {

using namespace rank_tasks_detail;

namespace {

/// The steps that were not planned; returns the ranks.
cpu_array<std::int64_t> go_on(cpu_place& place, const step_files& files, std::uint64_t step,
                              std::span<const std::unique_ptr<stored_block>> blocks, iteration_state& now) {
    const std::uint32_t nodes = now.control.nodes;
    cpu_array<std::int64_t> ranks(place, nodes, "the ranks");
    const cpu_array<std::int64_t> residuals(place, nodes, "the residuals");
    std::uint64_t first = 0;
    for (std::uint64_t b = 0; b < blocks.size(); ++b) {
        const std::uint32_t count = blocks[b]->block().links.nodes;
        read_state(files.file(step, b, name_of_part("state", b)), ranks.span().subspan(first, count),
                   residuals.span().subspan(first, count));
        first += count;
    }
    const fixed_page_rank_params& params = blocks.front()->block().params;
    sent_array all(place, nodes, now.control.now.wide);
    all.read(files, step);
    while (!now.control.ended) {
        place.ctx().check_stop();
        now.control.begin_step(params, now.dangling_mass);
        sent_array sent(place, nodes, now.control.next.wide);
        pass_totals sum;
        first = 0;
        for (const auto& each : blocks) {
            const rank_block& block = each->block();
            add_totals(sum, step_block(place, block, now.control, all.at(0), ranks.data() + first,
                                       residuals.data() + first, sent.at(first)));
            first += block.links.nodes;
        }
        now.dangling_mass = sum.dangling_mass;
        now.control.end_step(params, sum);
        place.ctx().report({"rank", now.control.iterations, 0, "iterations"});
        std::swap(all, sent);
    }
    return ranks;
}

}  // namespace

link_rank_result ranks_of_job(const link_rank_options& options, const fs::path& job, const context& requested,
                              const std::function<void(const ranked_node&)>& sink) {
    link_rank_result result;
    const context ctx = pinned_to_device(requested, "pagerank", result.statistics, offered_places::cpu_only);
    stage_clock clock(result.statistics);
    const job_plan plan = read_plan(job);
    const step_files files{job, plan.tasks.at(0).number("blocks")};
    const std::uint64_t planned = (plan.tasks.size() - 1) / std::max<std::uint64_t>(files.blocks, 1),
                        steps = std::min<std::uint64_t>(planned, last_needed_phase(job).value_or(planned));
    value_reader nodes(file_of_result(job, 0, "nodes"));
    const auto counts = nodes.take<std::uint64_t>(counts_size);
    result.nodes = counts[nodes_at];
    result.links = counts[links_at];
    result.dangling = counts[dangling_at];
    result.self_loops = counts[self_loops_at];
    result.unknown_starts = counts[unknown_starts_at];
    const auto ends = nodes.take<std::uint64_t>(result.nodes);
    const std::string_view names = nodes.rest();
    if (!std::ranges::is_sorted(ends) || names.size() != (ends.empty() ? 0 : ends.back()))
        nodes.refuse("has names of other lengths");

    std::vector<std::unique_ptr<stored_block>> blocks;
    for (std::uint64_t b = 0; b < files.blocks; ++b) blocks.push_back(std::make_unique<stored_block>(job, b));
    clock.end_stage("read", names.size());
    cpu_place place(ctx);
    iteration_state last = state_after(files, steps, *blocks.at(0));
    cpu_array<std::int64_t> units;
    if (!last.control.ended) {
        units = go_on(place, files, steps, blocks, last);
    } else {
        units = cpu_array<std::int64_t>(place, result.nodes, "the ranks");
        std::uint64_t first = 0;
        for (std::uint64_t b = 0; b < files.blocks && result.nodes != 0; ++b) {
            value_reader state(files.file(last.control.iterations, b, name_of_part("state", b)));
            const auto ranks = state.take<std::int64_t>(blocks[b]->block().links.nodes);
            std::ranges::copy(ranks, units.data() + first);
            first += ranks.size();
        }
    }
    const fixed_page_rank_result found{
        {}, last.control.iterations, last.control.change, last.control.converged, last.control.wide_steps};
    result.iterations = found.iterations;
    result.change = static_cast<double>(found.change) * 0x1p-62;
    result.converged = found.converged;
    if (result.nodes != 0)
        result.error_bound =
            link_rank_detail::error_bound({static_cast<std::uint32_t>(result.nodes), counts[max_links_at],
                                           options.rank.damping, static_cast<dangling_rule>(counts[rule_at]),
                                           counts[personalised_at] != 0, counts[weighted_at] != 0},
                                          found);
    const std::vector<double> ranks = from_units(units.span());
    units = {};
    const auto keys = array_from(place, std::span<const double>(ranks), "the ranks, sorted");
    const cpu_array<std::uint32_t> order(place, result.nodes, "the nodes by rank");
    std::iota(order.span().begin(), order.span().end(), 0u);
    primitives::sort_pairs(place, keys.span(), order.span(), {.direction = primitives::order::descending});
    clock.end_stage("rank", 0);
    std::uint64_t written = 0;
    for (const std::uint32_t node : order.span()) {
        if (written++ % 65536 == 0) {
            ctx.check_stop();
            ctx.report({"write", written - 1, result.nodes, "nodes"});
        }
        const std::uint64_t begin = node == 0 ? 0 : ends[node - 1];
        sink({names.substr(begin, ends[node] - begin), ranks[node], 0});
    }
    clock.end_stage("write", 0);
    note_statistics(result);
    return result;
}

}  // namespace quern
