// SPDX-License-Identifier: Apache-2.0
// Task 0 reads the graph; task 1 + (k − 1)·B + b does step k for block b of B. Their results:
//
//   nodes             of task 0: counts, ends of the names, names
//   links-BBBB        of task 0: a block, its parameters and its incoming links
//   begin-sent, begin-totals, begin-state-BBBB   of task 0: step 0
//   control           of a step: what was decided before it, alike in all blocks; if the iteration had ended, the only file
//   totals            of a step: of the block
//   sent              what the nodes of the block send in the next step, 4 or 8 bytes each
//   state-BBBB        ranks, residuals
#include "quern/tasks/rank_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "device/array.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "ops/link_rank/rank_blocks.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/link_rank_option_table.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/cluster/result_values.hpp"
#include "tasks/links/input_graph.hpp"
#include "tasks/links/rank_output.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using namespace link_rank_detail;

constexpr unsigned max_blocks = 128;  // each step of a block reads what all others sent

std::string name_of_part(std::string_view what, std::uint64_t block) {
    return fmt::format("{}-{:04}", what, block);
}

// ---- Numbers in files ----

enum counts_of_nodes : std::size_t {
    nodes_at,
    links_at,
    dangling_at,
    self_loops_at,
    unknown_starts_at,
    max_links_at,
    rule_at,
    personalised_at,
    weighted_at,
    counts_size
};
enum head_of_block : std::size_t {
    all_nodes_at,
    block_nodes_at,
    block_links_at,
    block_weighted_at,
    block_personalised_at,
    alpha_at,
    tolerance_at,
    max_iterations_at,
    digits_at,
    block_rule_at,
    teleport_each_at,
    head_size
};
constexpr std::size_t control_size = 16, totals_size = 4;

std::array<std::uint64_t, control_size> numbers_of(const step_control& c) {
    return {c.nodes,
            c.weighted,
            c.now.wide,
            c.now.shift,
            c.next.wide,
            c.next.shift,
            c.stays_wide,
            c.ended,
            c.converged,
            c.iterations,
            c.wide_steps,
            c.change,
            c.before,
            c.before_that,
            static_cast<std::uint64_t>(c.even.kept),
            0};
}
step_control control_of(std::span<const std::uint64_t> from) {
    step_control c;
    c.nodes = static_cast<std::uint32_t>(from[0]);
    c.weighted = from[1] != 0;
    c.now = {from[2] != 0, static_cast<unsigned>(from[3])};
    c.next = {from[4] != 0, static_cast<unsigned>(from[5])};
    c.stays_wide = from[6] != 0;
    c.ended = from[7] != 0;
    c.converged = from[8] != 0;
    c.iterations = static_cast<std::uint32_t>(from[9]);
    c.wide_steps = static_cast<std::uint32_t>(from[10]);
    c.change = from[11];
    c.before = from[12];
    c.before_that = from[13];
    c.even.kept = static_cast<std::int64_t>(from[14]);
    return c;
}

void write_totals(task_results& results, std::string_view name, const pass_totals& all) {
    const std::array<std::uint64_t, totals_size> numbers{all.change, all.greatest, all.residual_mass,
                                                         static_cast<std::uint64_t>(all.dangling_mass)};
    results.begin(name);
    append_values(results, std::span<const std::uint64_t>(numbers));
}
pass_totals read_totals(const fs::path& file) {
    value_reader reader(file);
    const auto from = reader.take<std::uint64_t>(totals_size);
    return {from[0], from[1], from[2], static_cast<std::int64_t>(from[3])};
}

/// A block as task 0 wrote it.
class stored_block {
  public:
    /// Throws io_error, damaged_store.
    stored_block(const fs::path& job, std::uint64_t number)
        : file_(file_of_result(job, 0, name_of_part("links", number))) {
        const auto head = file_.take<std::uint64_t>(head_size);
        all_nodes_ = head[all_nodes_at];
        weighted_ = head[block_weighted_at] != 0;
        const std::uint64_t nodes = head[block_nodes_at], links = head[block_links_at];
        if (all_nodes_ > UINT32_MAX || nodes > all_nodes_) file_.refuse("has a block of too many nodes");
        fixed_page_rank_params& params = block_.params;
        params.alpha = head[alpha_at];
        params.tolerance = head[tolerance_at];
        params.max_iterations = static_cast<std::uint32_t>(head[max_iterations_at]);
        params.contribution_digits = static_cast<unsigned>(head[digits_at]);
        params.dangling = static_cast<dangling_rule>(head[block_rule_at]);
        params.teleport_each = static_cast<std::int64_t>(head[teleport_each_at]);
        link_graph_view& view = block_.links;
        view.nodes = static_cast<std::uint32_t>(nodes);
        view.offsets = file_.take<std::uint64_t>(nodes + 1);
        view.out_degrees = file_.take<std::uint64_t>(nodes);
        if (head[block_personalised_at] != 0) {
            params.teleport = file_.take<std::int64_t>(nodes);
            params.preference = file_.take<std::uint64_t>(nodes);
        }
        if (weighted_) params.link_weights = file_.take<std::uint64_t>(links);
        view.sources = file_.take<std::uint32_t>(links);
        file_.require_end();
        if (view.offsets.front() != 0 || view.offsets.back() != links ||
            !std::ranges::is_sorted(view.offsets))
            file_.refuse("has links out of order");
        if (!view.sources.empty() && *std::ranges::max_element(view.sources) >= all_nodes_)
            file_.refuse("has a link from a missing node");
    }
    const rank_block& block() const { return block_; }
    std::uint64_t all_nodes() const { return all_nodes_; }
    bool weighted() const { return weighted_; }

  private:
    value_reader file_;
    rank_block block_;
    std::uint64_t all_nodes_ = 0;
    bool weighted_ = false;
};

void write_block(task_results& results, std::uint64_t number, std::uint64_t all_nodes, bool weighted,
                 const rank_block& block) {
    const fixed_page_rank_params& params = block.params;
    const std::array<std::uint64_t, head_size> head{all_nodes,
                                                    block.links.nodes,
                                                    block.links.sources.size(),
                                                    weighted,
                                                    params.teleport.empty() ? 0u : 1u,
                                                    params.alpha,
                                                    params.tolerance,
                                                    params.max_iterations,
                                                    params.contribution_digits,
                                                    static_cast<std::uint64_t>(params.dangling),
                                                    static_cast<std::uint64_t>(params.teleport_each)};
    results.begin(name_of_part("links", number));
    append_values(results, std::span<const std::uint64_t>(head));
    append_values(results, block.links.offsets);
    append_values(results, block.links.out_degrees);
    append_values(results, params.teleport);
    append_values(results, params.preference);
    append_values(results, params.link_weights);
    append_values(results, block.links.sources);
}

// ---- The iteration ----

/// Where the results of a step are; step 0 is that of task 0.
struct step_files {
    fs::path job;
    std::uint64_t blocks = 1;

    std::uint32_t task(std::uint64_t step, std::uint64_t block) const {
        return step == 0 ? 0 : static_cast<std::uint32_t>(1 + (step - 1) * blocks + block);
    }
    fs::path file(std::uint64_t step, std::uint64_t block, const std::string& name) const {
        fs::path path = file_of_result(job, task(step, block), step == 0 ? "begin-" + name : name);
        if (!fs::exists(path))
            throw usage_error(
                fmt::format("{} was removed after its use, but is needed again, as later results were "
                            "damaged; run the command again with another folder",
                            path.string()));
        return path;
    }
};

struct iteration_state {
    step_control control;
    std::int64_t dangling_mass = 0;  ///< of the last take
};

/// What is decided after `step`. `params`: of any block.
iteration_state state_after(const step_files& files, std::uint64_t step, const stored_block& any) {
    iteration_state now;
    if (step == 0) {
        now.control.nodes = static_cast<std::uint32_t>(any.all_nodes());
        now.control.weighted = any.weighted();
        now.control.ended = now.control.converged = any.all_nodes() == 0;
        now.dangling_mass = read_totals(files.file(0, 0, "totals")).dangling_mass;
        return now;
    }
    value_reader reader(files.file(step, 0, "control"));
    now.control = control_of(reader.take<std::uint64_t>(control_size));
    if (now.control.nodes != any.all_nodes()) reader.refuse("belongs to another graph");
    if (now.control.ended) return now;
    pass_totals all;
    for (std::uint64_t block = 0; block < files.blocks; ++block)
        add_totals(all, read_totals(files.file(step, block, "totals")));
    now.dangling_mass = all.dangling_mass;
    now.control.end_step(any.block().params, all);
    return now;
}

/// What nodes send, in the width of a step.
struct sent_array {
    cpu_array<std::int32_t> narrow;
    cpu_array<std::int64_t> wide;

    sent_array(cpu_place& place, std::uint64_t nodes, bool is_wide) {
        if (is_wide)
            wide = cpu_array<std::int64_t>(place, nodes, "what nodes send");
        else
            narrow = cpu_array<std::int32_t>(place, nodes, "what nodes send");
    }
    /// From a node on.
    sent_values at(std::uint64_t node) const {
        return {narrow.size() == 0 ? nullptr : narrow.data() + node,
                wide.size() == 0 ? nullptr : wide.data() + node};
    }
    void append_to(task_results& results) const {
        append_values(results, std::span<const std::int32_t>(narrow.span()));
        append_values(results, std::span<const std::int64_t>(wide.span()));
    }
    void read(const step_files& files, std::uint64_t step) {
        std::uint64_t node = 0;
        for (std::uint64_t block = 0; block < (step == 0 ? 1 : files.blocks); ++block) {
            value_reader reader(files.file(step, block, "sent"));
            const auto copy = [&](auto& to) {
                using value = std::remove_pointer_t<decltype(to.data())>;
                const std::uint64_t count = reader.rest().size() / sizeof(value);
                if (count > to.size() - node) reader.refuse("is of more nodes than the graph has");
                std::ranges::copy(reader.template take<value>(count), to.data() + node);
                node += count;
            };
            if (wide.size() != 0)
                copy(wide);
            else if (narrow.size() != 0)
                copy(narrow);
            reader.require_end();
        }
        if (node != std::max(narrow.size(), wide.size()))
            throw damaged_store(files.job.string(), "results", "has less than all nodes send");
    }
};

void read_state(const fs::path& file, std::span<std::int64_t> ranks, std::span<std::int64_t> residuals) {
    value_reader reader(file);
    std::ranges::copy(reader.take<std::int64_t>(ranks.size()), ranks.begin());
    std::ranges::copy(reader.take<std::int64_t>(residuals.size()), residuals.begin());
    reader.require_end();
}
void write_state(task_results& results, const std::string& name, std::span<const std::int64_t> ranks,
                 std::span<const std::int64_t> residuals) {
    results.begin(name);
    append_values(results, ranks);
    append_values(results, residuals);
}

// ---- Tasks ----

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
    results.begin("control");
    append_values(results, std::span<const std::uint64_t>(numbers_of(now.control)));
    if (now.control.ended) return;

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

link_rank_result ranks_of_job(const link_rank_options& options, const fs::path& job, const context& requested,
                              const std::function<void(const ranked_node&)>& sink) {
    link_rank_result result;
    const context ctx = pinned_to_device(requested, "pagerank", result.statistics, offered_places::cpu_only);
    stage_clock clock(result.statistics);
    const job_plan plan = read_plan(job);
    const step_files files{job, plan.tasks.at(0).number("blocks")};
    const std::uint64_t steps = (plan.tasks.size() - 1) / std::max<std::uint64_t>(files.blocks, 1);
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
